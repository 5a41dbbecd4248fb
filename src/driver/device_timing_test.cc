// SPDX-License-Identifier: Apache-2.0
// Times of a device, by one whose memory is the host's.
#include <chrono>

#include <gtest/gtest.h>

#include "driver/compilation_timing.h"
#include "driver/session_timing.h"
#include "driver/testing/model_test.h"
#include "runtime/device_fixture.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

constexpr RunLimits kOneRun = {1, 1, 0};
constexpr double kSettle = 0.5;  // more than one run takes on a loaded machine

class DeviceTiming : public runtime::DeviceTest {
 protected:
  std::unique_ptr<exec::Session> session_of(const exec::SessionOptions& options) {
    auto session = value_of(exec::Session::open_program(program, nullptr, {}, "", options));
    const std::vector<Tensor> x = {exec::random_input({"x", tessera::kFloat32, {2, 3}}, 1)};
    value_of(session->run(x));
    EXPECT_TRUE(session->bind(x));
    return session;
  }
  static double seconds_of(exec::Session& session, int repeats) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(time_runs({&session, repeats}, {kOneRun, 0, kSettle}));
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
};

TEST_F(DeviceTiming, WhatComputesForLongRunsUntilTheDeviceHasSettled) {
  constexpr int kRepeats = 8;
  const auto session = session_of({.repeats = kRepeats});
  runtime::device.elapsed_ns = kRepeats * 20'000;
  EXPECT_GE(seconds_of(*session, kRepeats), kSettle);
  runtime::device.elapsed_ns -= 1;
  EXPECT_LT(seconds_of(*session, kRepeats), kSettle);
}

TEST_F(DeviceTiming, NothingIsCopiedBetweenRuns) {
  const auto session = session_of({.stay_on_device = true});
  const int before = runtime::device.copies;
  const std::vector<double> seconds = value_of(time_runs({session.get()}, {{5, 5, 0}}));
  ASSERT_EQ(seconds.size(), 5u);
  EXPECT_NEAR(seconds[4], 1e-6, 1e-12);
  EXPECT_EQ(runtime::device.copies, before);
}

// Records tell times that were taken in another way apart.
TEST(HowTimed, IsPartOfKeys) {
  constexpr std::uint64_t kFewOfCpu = 8 << 20, kFew = 64 << 20;
  CompileOptions o;
  o.targets = {Target()};
  EXPECT_EQ(how_timed(o), "");
  EXPECT_EQ(how_timed(o, kFewOfCpu), "");
  EXPECT_EQ(how_timed(o, kFewOfCpu + 1), "weights of memory");
  EXPECT_FALSE(timing_of_parts(o, kFewOfCpu).weights_of_memory);
  EXPECT_TRUE(timing_of_parts(o, kFewOfCpu + 1).weights_of_memory);
  o.targets = {value_of(parse_target("cuda -arch=sm_90a"))};
  EXPECT_EQ(how_timed(o), "sustained");
  EXPECT_EQ(how_timed(o, kFew), "sustained");
  EXPECT_EQ(how_timed(o, kFew + 1), "sustained, weights of memory");
  EXPECT_FALSE(timing_of_parts(o, kFew).weights_of_memory);
  EXPECT_TRUE(timing_of_parts(o, kFew + 1).weights_of_memory);
  EXPECT_GT(timing_of_parts(o, kFew).settle, timing_of_parts(o, kFew).warm_up);
}

}  // namespace
}  // namespace tessera::driver
