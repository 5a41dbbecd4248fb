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
