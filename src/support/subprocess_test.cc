// SPDX-License-Identifier: Apache-2.0
#include "support/subprocess.h"

#include <atomic>
#include <stdexcept>
#include <thread>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "support/jobs.h"
#include "support/peak_memory.h"

namespace tessera {
namespace {

ProcessResult shell(const std::string& script, const ProcessOptions& options = {}) {
  auto result = run_process({"/bin/sh", "-c", script}, options);
  EXPECT_TRUE(result);
  return *std::move(result);
}

TEST(Subprocess, CapturesBothOutputsAndStatus) {
  const auto result = shell("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.outcome(), "exit status 3");
  EXPECT_TRUE(shell("cat").ok());  // standard input is at its end
}

TEST(Subprocess, TakesMoreOutputThanPipesHold) {
  const auto result = shell("head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2");
  EXPECT_EQ(result.out.size(), 3000000u);
  EXPECT_EQ(result.err.size(), 3000000u);
}

TEST(Subprocess, TellsOfSignals) {
  const auto result = shell("kill -SEGV $$");
  EXPECT_EQ(result.exit_status, -1);
  EXPECT_EQ(result.signal, 11);
  EXPECT_EQ(result.outcome(), "signal 11 (Segmentation fault)");
}

TEST(Subprocess, KillsWhatTakesTooLongWithItsChildren) {
  ProcessOptions options;
  options.time_limit_s = 0.2;
  const auto result = shell("echo begun; sleep 60 & sleep 60", options);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.out, "begun\n");
  EXPECT_LT(result.seconds, 30);
  EXPECT_FALSE(shell("true", options).timed_out);
}

TEST(Subprocess, DoesNotWaitForGrandchildrenThatKeepThePipes) {
  const auto result = shell("sleep 60 & echo $!");
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_LT(result.seconds, 30);
  shell("kill " + result.out);
}

TEST(Subprocess, FolderEnvironmentAndPath) {
  ProcessOptions options;
  options.cwd = "/usr";
  options.environment = {"A=b c"};
  EXPECT_EQ(shell("pwd; echo $A; echo [$HOME]", options).out, "/usr\nb c\n[]\n");
  EXPECT_TRUE(run_process({"true"})->ok());
}

TEST(Subprocess, SaysWhatCannotBeStarted) {
  const auto missing = run_process({"/nowhere/program"});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, std::errc::no_such_file_or_directory);
  EXPECT_EQ(missing.error().path, "/nowhere/program");
  ProcessOptions options;
  options.cwd = "/nowhere";
  EXPECT_FALSE(run_process({"true"}, options));
}

TEST(Subprocess, MeasuresMemory) {
  const auto small = shell("true");
  const auto large = shell("x=$(head -c 60000000 /dev/zero | tr '\\0' x); true");
  EXPECT_GT(small.peak_bytes, 100u << 10);
  EXPECT_GT(large.peak_bytes, small.peak_bytes + (50u << 20));
}

TEST(PeakMemory, IsThatOfTheLargestProcess) {
  const std::uint64_t before = own_peak_bytes();
  EXPECT_GT(before, 1u << 20);
  {
    const std::vector<char> touched(100u << 20, 'x');
    EXPECT_EQ(touched.back(), 'x');
  }
  const std::uint64_t after = own_peak_bytes();
  EXPECT_GE(after, 100u << 20);
  EXPECT_GE(tree_peak_bytes(), after);
  const auto larger = shell("x=$(head -c 200000000 /dev/zero | tr '\\0' x); true");
  EXPECT_GE(tree_peak_bytes(), 200'000'000u);
  EXPECT_LT(own_peak_bytes(), after + (20u << 20));
}

TEST(Jobs, RunEachOnceOnSeveralThreads) {
  for (const std::size_t threads : {0, 1, 2, 7}) {
    std::vector<std::atomic<int>> runs(100);
    run_jobs(runs.size(), threads, [&](std::size_t i) { ++runs[i]; });
    for (const auto& n : runs) ASSERT_EQ(n, 1);
  }
  run_jobs(0, 4, [](std::size_t) { FAIL(); });
}

TEST(Jobs, ReallyRunAtTheSameTime) {
  std::atomic<int> waiting = 0;
  run_jobs(3, 3, [&](std::size_t) {
    ++waiting;
    while (waiting < 3) std::this_thread::yield();
  });
  EXPECT_EQ(waiting, 3);
}

TEST(Jobs, TheFirstExceptionByIndexArrivesAndNoMoreJobsStart) {
  for (const std::size_t threads : {1, 4}) {
    std::atomic<int> started = 0;
    try {
      run_jobs(1000, threads, [&](std::size_t i) {
        ++started;
        if (i >= 5) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "nothing was thrown";
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "5");
    }
    EXPECT_LE(started, 5 + static_cast<int>(threads));
  }
}

// A limit of the user's is no bug of ours.
TEST(Subprocess, TooFewDescriptorsAreReported) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {3, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto result = run_process({"true"});
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, std::errc::too_many_files_open);
}

}  // namespace
}  // namespace tessera
