// SPDX-License-Identifier: Apache-2.0
// Programs on a device that find sizes as they run: what the CPU reads, and whose memory results
// get.
#include <utility>

#include "runtime/device_fixture.h"

namespace tessera::runtime {
namespace {

// How many elements are above 25, and minus one is none of them.
std::int32_t count(void* const* buffers, const std::int64_t* dims, const tessera_call* call) {
  EXPECT_EQ(call->device.device_type, TESSERA_CPU);
  EXPECT_NE(place_of(buffers[0]).device_type, TESSERA_CUDA);
  const auto* x = static_cast<const float*>(buffers[0]);
  auto* sizes = static_cast<std::int64_t*>(buffers[1]);
  sizes[0] = 0;
  for (std::int64_t i = 0; i < dims[0]; ++i) {
    if (x[i] == -1) {
      call->set_error(call, "minus one has no size");
      return 1;
    }
    sizes[0] += x[i] > 25 ? 1 : 0;
  }
  return 0;
}

// y: as many elements as there are above 25, copied through the heap.
std::int32_t find_large(const tessera_frame* frame) {
  std::int64_t sizes[1];
  void* const buffers[] = {frame->inputs[0], sizes};
  const std::int64_t bytes[] = {24, 0}, dims[] = {6};
  if (std::int32_t status = tessera_kernel_on_host(frame, count, buffers, bytes, 1, 2, dims)) {
    return status;
  }
  auto* found = static_cast<float*>(tessera_heap_reserve(frame, 0, 4, sizes, 1));
  if (found == nullptr) return 1;
  EXPECT_EQ(place_of(found).device_type, TESSERA_CUDA);
  const auto* x = static_cast<const float*>(frame->inputs[0]);
  for (int i = 0, at = 0; i < 6; ++i) {
    if (x[i] > 25) found[at++] = x[i];
  }
  frame->output_tensors[0].shape[0] = sizes[0];
  auto* y = static_cast<float*>(tessera_output_reserve(frame, 0));
  if (y == nullptr) return 1;
  EXPECT_EQ(place_of(y).device_type, TESSERA_CUDA);
  std::memcpy(y, found, static_cast<std::size_t>(4 * sizes[0]));
  *static_cast<std::int64_t*>(frame->outputs[1]) = sizes[0];
  return 0;
}

class DeviceSizes : public DeviceTest {
 protected:
  DeviceSizes() {
    outputs[0] = {"y", kFloat32, 1, unknown_, none_, unknown_, nullptr, 0, 0};
    program.entry = find_large;
    program.heap_count = 1;
    program.replayable = 0;
  }

 private:
  std::int64_t unknown_[1] = {-1}, none_[1] = {0};
};

TEST_F(DeviceSizes, ResultsAreAsLargeAsTheDataSay) {
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].shape[0], 4);
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[3], 60);
  EXPECT_EQ(static_cast<const std::int64_t*>(out_[1].data)[0], 4);
  for (float& x : x_) x = 100;  // more than there is memory for
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].shape[0], 6);
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 100);
  for (float& x : x_) x = 0;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].shape[0], 0);
  EXPECT_EQ(device.recordings, 0);
}

TEST_F(DeviceSizes, TheCallersTensorIsWrittenIfItIsLargeEnough) {
  create();
  float y[5] = {};
  std::int64_t shape[1] = {5};
  out_[0] = {y, {TESSERA_CPU, 0}, 1, kFloat32, shape, nullptr, 0};
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].data, y);
  EXPECT_EQ(shape[0], 4);
  EXPECT_EQ(y[3], 60);
  for (float& x : x_) x = 100;
  shape[0] = 5;
  ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "the run failed: output `y` needs 24 bytes for a result of shape (6), and was given "
               "20 of shape (5): give a larger tensor, or none (data == NULL) for the instance's "
               "own");
  EXPECT_EQ(out_[0].data, y);
  EXPECT_EQ(shape[0], 5);
}

TEST_F(DeviceSizes, SteadyRunsReserveNothing) {
  create();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  device.free_bytes = 0;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(DeviceSizes, WithoutMemoryThereIsASentence) {
  create();
  for (float& x : x_) x = 0;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  for (float& x : x_) x = 100;
  const auto free_bytes = std::exchange(device.free_bytes, 0);
  ASSERT_EQ(run(), TESSERA_OUT_OF_MEMORY);
  EXPECT_NE(std::string(tessera_last_error()).find("a tensor of unbounded size"), std::string::npos)
      << tessera_last_error();
  device.free_bytes = free_bytes;
  EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(DeviceSizes, ASizeThatDoesNotFitStopsTheRun) {
  create();
  x_[2] = -1;
  ASSERT_EQ(run(), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "the run failed: minus one has no size");
}

TEST_F(DeviceSizes, ACapturedStreamIsNotWaitedFor) {
  create();
  use_device_input();
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].shape[0], 4);
  device.caller_captures = true;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "the run failed: the stream is being captured, but the program reads data of the "
               "device to go on: run it outside of the capture");
}

}  // namespace
}  // namespace tessera::runtime
