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
    const TurnToMeasure turn(kCpuTurns, folder);
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
  std::optional<TurnToMeasure> first(std::in_place, kCpuTurns, folder->path());
  EXPECT_TRUE(another_waits(folder->path(), [&] { first.reset(); }));
}

TEST(TurnToMeasure, AChildThatLivesOnDoesNotKeepIt) {
  const auto folder = TempDir::make("tessera-turn-");
  std::optional<TurnToMeasure> first(std::in_place, kCpuTurns, folder->path());
  const pid_t child = fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  first.reset();
  const TurnToMeasure second(kCpuTurns, folder->path());
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

// Of one machine with several GPUs.
TEST(TurnToMeasure, AGpuOfOnesOwnIsNotWaitedFor) {
  const auto folder = TempDir::make("tessera-turn-");
  const auto seen = [](const char* devices) {
    ::setenv("CUDA_VISIBLE_DEVICES", devices, 1);
    return gpu_turns();
  };
  EXPECT_EQ(seen("0,1"), kCpuTurns);
  EXPECT_EQ(seen(""), kCpuTurns);
  EXPECT_EQ(seen("1"), "measuring-1");
  EXPECT_EQ(seen("1,0"), "measuring-1");
  EXPECT_NE(seen("GPU-1/2"), seen("GPU-1/3"));
  EXPECT_LT(seen(std::string(4000, 'x').c_str()).size(), 64u);
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(gpu_turns(), kCpuTurns);
  const TurnToMeasure cpu(kCpuTurns, folder->path());
  const TurnToMeasure gpu("measuring-1", folder->path());
}

TEST(TurnToMeasure, WhereThereIsNoFolderNobodyWaits) {
  const TurnToMeasure first(kCpuTurns, ""), second(kCpuTurns, "");
  const TurnToMeasure third(kCpuTurns, "/proc/none"), fourth(kCpuTurns, "/proc/none");
}

}  // namespace
}  // namespace tessera::tune
