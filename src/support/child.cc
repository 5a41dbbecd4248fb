// SPDX-License-Identifier: Apache-2.0
#include "support/child.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/subprocess.h"
#include "support/termination.h"

namespace tessera {
namespace {

// The exit status of a child whose work threw, and how its last line begins.
constexpr int kThrew = 70;
constexpr std::string_view kThrewLine = "threw ";
constexpr int kNoProgram = 127;

void write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(file, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

// The parent cleans up, not its copy.
void forget_handlers() {
  for (const int number : {SIGHUP, SIGINT, SIGTERM}) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void work_and_exit(int file, const std::function<void(const Print&)>& work) {
  int status = 0;
  try {
    work([file](std::string_view text) { write_all(file, text); });
  } catch (const std::exception& e) {
    write_all(file, fmt::format("{}{}\n", kThrewLine, e.what()));
    status = kThrew;
  }
  ::_exit(status);  // nothing of the parent's is written or freed twice
}

// Between fork and exec nothing may be allocated: another thread may have held the allocator.
void become(int file, const char* const* argv) {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing >= 0) ::dup2(nothing, STDIN_FILENO);
  if (::dup2(file, STDOUT_FILENO) >= 0) ::execv(argv[0], const_cast<char* const*>(argv));
  ::_exit(kNoProgram);
}

// Reads until the end, or until nothing came for so long; false in that case.
bool read_all(int file, double silence_limit_s, std::string& output) {
  std::array<char, 4096> buffer;
  for (;;) {
    pollfd wait{file, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(silence_limit_s * 1000));
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) return false;
    const ssize_t n = ::read(file, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

void add_outcome(int status, ChildResult& result) {
  const std::string_view output = result.output;
  const std::size_t threw = output.rfind(kThrewLine);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kThrew && threw != std::string_view::npos) {
    result.problem = output.substr(threw, output.find('\n', threw) - threw);
    result.thrown = result.problem.substr(kThrewLine.size());
    return;
  }
  ProcessResult ended;
  if (WIFSIGNALED(status)) ended.signal = WTERMSIG(status);
  if (WIFEXITED(status)) ended.exit_status = WEXITSTATUS(status);
  if (!ended.ok()) result.problem = ended.outcome();
  result.is_killed = ended.signal == SIGKILL;
}

// `be_child` does not return; it gets the file that the child's output goes to.
ChildResult watch(const std::function<void(int file)>& be_child, double silence_limit_s) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {"", fmt::format("no pipe: {}", ::strerror(errno))};
  const RunningProgram child([&](pid_t& pid) {
    pid = ::fork();
    if (pid < 0) return errno;
    if (pid == 0) {
      ::close(ends[0]);
      ::setpgid(0, 0);
      forget_handlers();
      be_child(ends[1]);
    }
    ::setpgid(pid, pid);
    return 0;
  });
  ::close(ends[1]);
  ChildResult result;
  if (child.problem() != 0) {
    result.problem = fmt::format("no process: {}", ::strerror(child.problem()));
  } else {
    const bool ended = read_all(ends[0], silence_limit_s, result.output);
    if (!ended) ::kill(-child.pid(), SIGKILL);
    int status = 0;
    while (::waitpid(child.pid(), &status, 0) < 0 && errno == EINTR) {
    }
    if (ended) {
      add_outcome(status, result);
    } else {
      result.problem = kHangs;
    }
  }
  ::close(ends[0]);
  return result;
}

}  // namespace

ChildResult run_in_child(const std::function<void(const Print&)>& work, double silence_limit_s) {
  return watch([&](int file) { work_and_exit(file, work); }, silence_limit_s);
}

ChildResult run_program(const std::vector<std::string>& argv, double silence_limit_s) {
  std::vector<const char*> words;
  for (const std::string& word : argv) words.push_back(word.c_str());
  words.push_back(nullptr);
  return watch([&](int file) { become(file, words.data()); }, silence_limit_s);
}

}  // namespace tessera
