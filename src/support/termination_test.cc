// SPDX-License-Identifier: Apache-2.0
#include "support/termination.h"

#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"
#include "support/subprocess.h"

namespace tessera {
namespace {

// A process that has a temporary folder, one that it keeps, and a program with a child, and waits.
// It writes the folders' names and the program's processes into `report`.
[[noreturn]] void busy_process(int report) {
  clean_up_when_terminated();
  auto folder = TempDir::make("terminated"), kept = TempDir::make("kept");
  const std::string script = "sleep 60 & echo $$ $! > " + folder->file("pids") + "; wait";
  std::thread program([&] { (void)run_process({"/bin/sh", "-c", script}); });
  std::string pids;
  while (!pids.ends_with('\n')) {
    if (auto text = read_file(folder->file("pids"))) pids = *std::move(text);
  }
  const std::string text = folder->path() + " " + kept->keep() + " " + pids;
  if (::write(report, text.data(), text.size()) < 0) ::_exit(1);
  while (true) ::pause();
}

struct Busy {
  pid_t pid = -1;
  std::string folder, kept;
  pid_t shell = -1, child = -1;
};

Busy start_busy() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  Busy busy;
  busy.pid = ::fork();
  if (busy.pid == 0) busy_process(ends[1]);
  ::close(ends[1]);
  char text[1024] = {};
  EXPECT_GT(::read(ends[0], text, sizeof text - 1), 0);
  ::close(ends[0]);
  std::istringstream(text) >> busy.folder >> busy.kept >> busy.shell >> busy.child;
  return busy;
}

// A killed process stays as a zombie until somebody waits for it: that counts as gone.
bool is_running(pid_t pid) {
  const auto status = read_file("/proc/" + std::to_string(pid) + "/stat");
  return status && status->find(") Z") == std::string::npos;
}

bool ends_within_seconds(pid_t pid, int seconds) {
  for (int i = 0; i < seconds * 100 && is_running(pid); ++i) ::poll(nullptr, 0, 10);
  return !is_running(pid);
}

class Termination : public testing::TestWithParam<int> {};

TEST_P(Termination, LeavesNoProgramAndNoFolder) {
  const Busy busy = start_busy();
  ASSERT_TRUE(is_running(busy.child));
  ::kill(busy.pid, GetParam());
  int status = 0;
  ::waitpid(busy.pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  EXPECT_TRUE(ends_within_seconds(busy.shell, 20));
  EXPECT_TRUE(ends_within_seconds(busy.child, 20));
  EXPECT_FALSE(std::filesystem::exists(busy.folder));
  EXPECT_TRUE(std::filesystem::remove(busy.kept));
}

INSTANTIATE_TEST_SUITE_P(Signals, Termination, testing::Values(SIGHUP, SIGINT, SIGTERM));

TEST_P(Termination, WaitsForWhatIsNotToBeInterrupted) {
  const auto folder = TempDir::make("uninterrupted");
  const std::string first = folder->file("first"), second = folder->file("second");
  const pid_t pid = ::fork();
  if (pid == 0) {
    forget_folder(folder->path());  // the parent's
    clean_up_when_terminated();
    {
      const Uninterrupted here;
      ::kill(::getpid(), GetParam());
      ::poll(nullptr, 0, 200);
      if (!write_atomically(first, "done")) ::_exit(1);
    }
    ::poll(nullptr, 0, 20'000);
    if (!write_atomically(second, "too late")) ::_exit(1);
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
  EXPECT_TRUE(std::filesystem::exists(first));
  EXPECT_FALSE(std::filesystem::exists(second));
}

// Threads that make folders go on until the process ends.
TEST_P(Termination, LeavesNoFolderThatIsBeingMade) {
  constexpr int kTimes = 20;
  const auto folder = TempDir::make("folders");
  for (int time = 0; time < kTimes; ++time) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t pid = ::fork();
    if (pid == 0) {
      forget_folder(folder->path());  // the parent's
      ::setenv("TMPDIR", folder->path().c_str(), 1);
      clean_up_when_terminated();
      const auto make_folders = [&] {
        for (;;) {
          const auto made = TempDir::make("made");
          if (!made || ::write(ends[1], "1", 1) < 0) ::_exit(1);
        }
      };
      std::thread(make_folders).detach();
      make_folders();
    }
    char made = 0;
    ASSERT_EQ(::read(ends[0], &made, 1), 1);
    ::kill(pid, GetParam());
    int status = 0;
    ::waitpid(pid, &status, 0);
    for (const int end : ends) ::close(end);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == GetParam());
    ASSERT_TRUE(std::filesystem::is_empty(folder->path()));
  }
}

TEST(Subprocesses, TakeSignalsThatTheirParentBlocks) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    clean_up_when_terminated();
    const auto ran = run_process({"/bin/sh", "-c", "kill -TERM $$; sleep 60"});
    ::_exit(ran && ran->signal == SIGTERM ? 0 : 1);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

TEST(Terminated, WhatIsIgnoredStaysIgnored) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::signal(SIGHUP, SIG_IGN);
    clean_up_when_terminated();
    ::raise(SIGHUP);
    ::kill(::getpid(), SIGHUP);
    ::poll(nullptr, 0, 100);
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

}  // namespace
}  // namespace tessera
