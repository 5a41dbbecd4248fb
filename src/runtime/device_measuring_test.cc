// SPDX-License-Identifier: Apache-2.0
// Options for who measures parts of a model on a device.
#include <cstring>
#include <set>

#include "runtime/device_fixture.h"

namespace tessera::runtime {
namespace {

// As the weights of a whole model are read: each once, and then others.
TEST_F(DeviceTest, ComputationsInARowReadWeightsOfTheirOwn) {
  static std::vector<const float*> read;
  read.clear();
  program.entry = [](const tessera_frame* frame) {
    read.push_back(static_cast<const float*>(frame->constants[0]));
    return entry(frame);
  };
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.repeats = 5;
  options.weight_copies = 3;
  create(&options);
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(std::set(read.begin(), read.end()).size(), 3u);
  EXPECT_EQ(read[3], read[0]);
  EXPECT_EQ(read[4], read[1]);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(std::memcmp(read[i], weights, sizeof weights), 0) << i;
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.constant_bytes, sizeof weights);
  EXPECT_GE(memory.other_bytes, 2 * sizeof weights);
}

TEST_F(DeviceTest, TooLittleMemoryForCopiesOfWeightsIsTold) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.weight_copies = 1 << 20;
  ASSERT_EQ(try_create(&options), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(), "memory for copies of the weights: out of device memory");
}

TEST_F(DeviceTest, NegativeNumbersAreNoCopies) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.weight_copies = -1;
  ASSERT_EQ(try_create(&options), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(), "weight_copies is -1");
}

TEST_F(DeviceTest, InputsThatStayTheSameAreSentOnce) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.same_inputs = 1;
  create(&options);
  out_[0].device = {TESSERA_CUDA, 0};
  out_[1].device = {TESSERA_CUDA, 0};
  const int before = device.copies;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
    EXPECT_EQ(device.copies, before + 1) << "no result comes back either";
  }
  float other[6] = {0, 0, 0, 0, 0, 1};
  in_.data = other;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(device.copies, before + 2);
}

TEST_F(DeviceTest, AnInputThatDidNotGetThereIsSentAgain) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.same_inputs = 1;
  create(&options);
  device.is_late = true;
  device.first_failing = device.asked.size();
  ASSERT_EQ(run(), TESSERA_KERNEL_FAILED);
  device.is_late = false;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
}

}  // namespace
}  // namespace tessera::runtime
