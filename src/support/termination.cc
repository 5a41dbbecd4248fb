// SPDX-License-Identifier: Apache-2.0
#include "support/termination.h"

#include <csignal>
#include <filesystem>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <thread>

#include "support/check.h"

namespace tessera {
namespace {

struct Leftovers {
  std::shared_mutex uninterrupted;  // before the other one
  std::mutex mutex;
  std::set<pid_t> groups;
  std::set<std::string> folders;
};

// Never destroyed: threads may still use it when the process ends.
Leftovers& leftovers() {
  static auto* all = new Leftovers;
  return *all;
}

sigset_t terminating_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction now {};
    // What `nohup` ignores stays ignored.
    if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
      sigaddset(&set, signal);
    }
  }
  return set;
}

// The locks are not given back: nothing starts any more, and nobody removes what is removed here.
[[noreturn]] void terminate_by(int signal) {
  Leftovers& all = leftovers();
  all.uninterrupted.lock();
  all.mutex.lock();
  for (const pid_t group : all.groups) ::kill(-group, SIGKILL);
  for (const std::string& folder : all.folders) {
    std::error_code problem;  // a thread may write a file at this moment
    for (int tries = 0; tries < 3; ++tries) {
      std::filesystem::remove_all(folder, problem);
      if (!problem) break;
    }
  }
  ::signal(signal, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  ::raise(signal);
  ::_Exit(128 + signal);  // not reached: the three end a process
}

}  // namespace

void clean_up_when_terminated() {
  // Blocked in this thread, and so in all that it starts: only the one that waits takes them.
  const sigset_t signals = terminating_signals();
  TESSERA_CHECK(::pthread_sigmask(SIG_BLOCK, &signals, nullptr) == 0, "signals cannot be blocked");
  std::thread([signals] {
    int signal = 0;
    while (::sigwait(&signals, &signal) != 0) {
    }
    terminate_by(signal);
  }).detach();
}

RunningProgram::RunningProgram(const std::function<int(pid_t&)>& spawn) {
  Leftovers& all = leftovers();
  const std::lock_guard lock(all.mutex);
  problem_ = spawn(pid_);
  if (problem_ == 0) all.groups.insert(pid_);
}

RunningProgram::~RunningProgram() {
  Leftovers& all = leftovers();
  const std::lock_guard lock(all.mutex);
  all.groups.erase(pid_);
}

Uninterrupted::Uninterrupted() { leftovers().uninterrupted.lock_shared(); }
Uninterrupted::~Uninterrupted() { leftovers().uninterrupted.unlock_shared(); }

void remember_folder(const std::string& path) {
  Leftovers& all = leftovers();
  const std::lock_guard lock(all.mutex);
  all.folders.insert(path);
}

void forget_folder(const std::string& path) {
  Leftovers& all = leftovers();
  const std::lock_guard lock(all.mutex);
  all.folders.erase(path);
}

}  // namespace tessera
