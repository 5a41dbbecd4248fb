// SPDX-License-Identifier: Apache-2.0
// Indices that a device's kernels find to lie outside: told when the host waits, once, and the
// instance serves on.
#include "runtime/device_fixture.h"
#include "tessera/fault.h"

namespace tessera::runtime {
namespace {

// What a kernel does that finds one, where x[0] is below zero; else the fixture's program.
std::int32_t entry_with_check(const tessera_frame* frame) {
  const auto* x = static_cast<const float*>(frame->inputs[0]);
  if (x[0] < 0) {
    tessera_fault* const fault = tessera_fault_of(frame->call);
    if (fault->taken == 0) {
      *fault = {"node `emb`: the index %lld at element %lld of axis %lld with %lld elements",
                {static_cast<long long>(x[0]), 7, 0, 5},
                1};
    }
  }
  return ProgramFixture::entry(frame);
}

constexpr const char* kSentence =
    "the run failed: node `emb`: the index -9 at element 7 of axis 0 with 5 elements";

class DeviceFaults : public DeviceTest {
 protected:
  DeviceFaults() {
    program.entry = entry_with_check;
    program.replayable = 0;  // a replay on this device runs nothing
  }
};

TEST_F(DeviceFaults, FailTheRunAndNotTheNext) {
  create();
  for (int i = 0; i < 2; ++i) {
    x_[0] = -9;
    ASSERT_EQ(run(), TESSERA_INDEX_OUTSIDE);
    EXPECT_STREQ(tessera_last_error(), kSentence);
    x_[0] = 10;
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(static_cast<const float*>(out_[0].data)[0], 21);
  }
}

TEST_F(DeviceFaults, OfAStreamAreToldOnceWhenTheHostWaits) {
  create();
  x_[0] = -9;
  use_device_input();
  ASSERT_EQ(run_on_stream(&own_stream), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(tessera_instance_synchronize(instance_), TESSERA_INDEX_OUTSIDE);
  EXPECT_STREQ(tessera_last_error(), kSentence);
  EXPECT_EQ(tessera_instance_synchronize(instance_), TESSERA_OK);
}

TEST_F(DeviceFaults, OfAStreamThatNobodyWaitsForAreToldByTheNextRun) {
  create();
  x_[0] = -9;
  use_device_input();
  ASSERT_EQ(run_on_stream(&own_stream), TESSERA_OK) << tessera_last_error();
  static_cast<float*>(in_.data)[0] = 10;
  EXPECT_EQ(run_on_stream(&own_stream), TESSERA_INDEX_OUTSIDE);
  EXPECT_EQ(runs, 1);  // it has not been begun
  EXPECT_EQ(run_on_stream(&own_stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(tessera_instance_synchronize(instance_), TESSERA_OK);
}

// On the CPU the kernel that finds one ends the run.
TEST_F(DeviceFaults, OfKernelsOnTheHostAreToldAtOnce) {
  program.entry = [](const tessera_frame* frame) -> std::int32_t {
    return tessera_index_outside(frame->call, "the index %lld of axis %lld", 3LL, 1LL);
  };
  create();
  EXPECT_EQ(run(), TESSERA_INDEX_OUTSIDE);
  EXPECT_STREQ(tessera_last_error(), "the run failed: the index 3 of axis 1");
}

}  // namespace
}  // namespace tessera::runtime
