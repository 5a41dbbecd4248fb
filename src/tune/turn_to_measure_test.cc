// SPDX-License-Identifier: Apache-2.0
#include "tune/turn_to_measure.h"

#include <atomic>
#include <chrono>
#include <csignal>
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

TEST(TurnToMeasure, WhereThereIsNoFolderNobodyWaits) {
  const TurnToMeasure first(""), second("");
  const TurnToMeasure third("/proc/none"), fourth("/proc/none");
}

}  // namespace
}  // namespace tessera::tune
