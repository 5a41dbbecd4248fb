// SPDX-License-Identifier: Apache-2.0
#include "tune/turn_to_measure.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/files.h"

namespace tessera::tune {
namespace {

using namespace std::chrono_literals;

// Whether another one gets its turn within a moment.
bool another_waits(const std::string& folder, const std::function<void()>& end) {
  std::atomic<bool> has_it = false;
  std::thread other([&] {
    const TurnToMeasure turn(folder);
    has_it = true;
  });
  std::this_thread::sleep_for(100ms);
  const bool waits = !has_it;
  end();
  other.join();
  return waits && has_it;
}

TEST(TurnToMeasure, OneAtATime) {
  const auto folder = TempDir::make("tessera-turn-");
  std::optional<TurnToMeasure> first(std::in_place, folder->path());
  EXPECT_TRUE(another_waits(folder->path(), [&] { first.reset(); }));
}

TEST(TurnToMeasure, AChildThatLivesOnDoesNotKeepIt) {
  const auto folder = TempDir::make("tessera-turn-");
  std::optional<TurnToMeasure> first(std::in_place, folder->path());
  const pid_t child = fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  first.reset();
  const TurnToMeasure second(folder->path());
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

// Of one machine with several GPUs.
TEST(TurnToMeasure, AGpuOfOnesOwnIsNotWaitedFor) {
  const auto folder = TempDir::make("tessera-turn-");
  ::setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
  EXPECT_EQ(measuring_file(), "measuring");
  const TurnToMeasure first(folder->path());
  ::setenv("CUDA_VISIBLE_DEVICES", "1", 1);
  EXPECT_EQ(measuring_file(), "measuring-1");
  const TurnToMeasure second(folder->path());
  ::setenv("CUDA_VISIBLE_DEVICES", "GPU-1/2,0", 1);
  EXPECT_EQ(measuring_file(), "measuring-GPU_1_2");
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(measuring_file(), "measuring");
}

TEST(TurnToMeasure, WhereThereIsNoFolderNobodyWaits) {
  const TurnToMeasure first(""), second("");
  const TurnToMeasure third("/proc/none"), fourth("/proc/none");
}

}  // namespace
}  // namespace tessera::tune
