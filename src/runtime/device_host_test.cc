// SPDX-License-Identifier: Apache-2.0
// Functions that compute on the CPU for a program on a device: what they are given, and what is
// left of it for later runs.
#include <set>

#include "runtime/device_fixture.h"

namespace tessera::runtime {
namespace {

// What `twice` has been given, since the test began.
std::set<const void*> given;

// y = 2 * x, by way of the workspace; the first of a tensor of minus one is refused.
std::int32_t twice(const tessera_call* call, tessera_tensor** tensors, std::int32_t count) {
  EXPECT_EQ(count, 2);
  EXPECT_EQ(call->device.device_type, TESSERA_CPU);
  EXPECT_EQ(call->stream, nullptr);
  EXPECT_GE(call->workspace_bytes, 24u);
  for (const void* memory : {tensors[0]->data, tensors[1]->data, call->workspace}) {
    EXPECT_EQ(place_of(memory).device_type, TESSERA_CPU);  // within the pinned block
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0u);
    given.insert(memory);
  }
  const auto* x = static_cast<const float*>(tensors[0]->data);
  auto* y = static_cast<float*>(tensors[1]->data);
  auto* both = static_cast<float*>(call->workspace);
  EXPECT_EQ(tensors[1]->device.device_type, TESSERA_CPU);
  EXPECT_EQ(tensors[1]->shape[1], 3);
  if (x[0] == -1) {
    call->set_error(call, "minus one has no double");
    return 7;
  }
  for (int i = 0; i < 6; ++i) both[i] = 2 * x[i];
  std::memcpy(y, both, 24);
  return 0;
}

std::int32_t run_twice(const tessera_frame* frame) {
  tessera_tensor x = frame->input_tensors[0], y = frame->output_tensors[0];
  x.data = frame->inputs[0];
  x.device = frame->call->device;
  tessera_tensor* tensors[] = {&x, &y};
  const tessera_call* call = &frame->extern_calls[0];
  if (std::int32_t status = tessera_call_on_host(frame, twice, call, tensors, 1, 2)) return status;
  *static_cast<std::int64_t*>(frame->outputs[1]) = 0;
  return 0;
}

// A scalar of the device that the program sets and reads.
std::int32_t run_flags(const tessera_frame* frame) {
  void* scalar = frame->outputs[1];
  for (const int value : {1, 0, 1}) {
    std::int32_t status = tessera_set_flag(frame, scalar, value);
    if (status != 0) return status;
    EXPECT_EQ(tessera_flag(frame, scalar, &status), value);
    if (status != 0) return status;
  }
  return 0;
}

class DeviceHost : public DeviceTest {
 protected:
  DeviceHost() {
    given.clear();
    program.entry = run_twice;
    program.replayable = 0;
  }
};

TEST_F(DeviceHost, AFunctionForTheCpuGetsCopies) {
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[0], 20);
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 120);
  EXPECT_EQ(given.size(), 3u);
}

TEST_F(DeviceHost, LaterRunsUseTheSameMemory) {
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  const std::size_t pieces = device.places.size();
  device.free_bytes = 0;
  for (int i = 0; i < 3; ++i) {
    x_[5] = static_cast<float>(i);
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 2 * x_[5]);
  }
  EXPECT_EQ(given.size(), 3u);
  EXPECT_EQ(device.places.size(), pieces);
}

TEST_F(DeviceHost, ItsErrorIsTheRuns) {
  create();
  x_[0] = -1;
  ASSERT_EQ(run(), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "the run failed: minus one has no double");
  x_[0] = 10;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
}

TEST_F(DeviceHost, WithoutMemoryForCopiesThereIsASentence) {
  create();
  use_device_input();
  for (tessera_tensor& out : out_) out.device = {TESSERA_CUDA, 0};
  int stream = 0;
  program.entry = run_flags;  // the outputs have their memory after this
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  program.entry = run_twice;
  device.free_bytes = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(),
               "the run failed: memory for tensors that the CPU reads: out of device memory");
  device.free_bytes = 1 << 20;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
}

TEST_F(DeviceHost, ACapturedStreamIsNotWaitedFor) {
  create();
  use_device_input();
  int stream = 0;
  for (const tessera_entry_fn entry : {run_twice, run_flags}) {
    program.entry = entry;
    device.caller_captures = false;
    ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
    const int copies = device.copies;
    given.clear();
    device.caller_captures = true;
    ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
    EXPECT_STREQ(tessera_last_error(),
                 "the run failed: the stream is being captured, but the program reads data of the "
                 "device to go on: run it outside of the capture");
    EXPECT_EQ(device.copies, copies);
    EXPECT_TRUE(given.empty());
  }
}

// ---- Kernels of the CPU, and what the host has anyway ----

// y[0] = 2 * x[0], where the numbers are the host's.
std::int32_t double_first(void* const* buffers, const std::int64_t* dims,
                          const tessera_call* call) {
  EXPECT_EQ(call->device.device_type, TESSERA_CPU);
  EXPECT_EQ(call->stream, nullptr);
  for (int i = 0; i < 2; ++i) EXPECT_NE(place_of(buffers[i]).device_type, TESSERA_CUDA);
  *static_cast<float*>(buffers[1]) = 2 * *static_cast<const float*>(buffers[0]);
  return static_cast<std::int32_t>(dims[0]);
}

const void* host_input;
float doubled;

std::int32_t run_in_frame(const tessera_frame* frame) {
  host_input = frame->inputs[0];
  void* const buffers[] = {frame->inputs[0], &doubled};
  const std::int64_t bytes[] = {0, 0}, dims[] = {0};
  return tessera_kernel_on_host(frame, double_first, buffers, bytes, 1, 2, dims);
}

// The first of the constants, which the host reads, and of the result, which the device has.
std::int32_t run_and_send(const tessera_frame* frame) {
  void* const buffers[] = {const_cast<void*>(frame->host_constants[0]), frame->outputs[0]};
  const std::int64_t bytes[] = {0, 4}, dims[] = {0};
  return tessera_kernel_on_host(frame, double_first, buffers, bytes, 1, 2, dims);
}

class HostInput : public DeviceHost {
 protected:
  HostInput() {
    input.on_host = 1;
    program.entry = run_in_frame;
    for (tessera_tensor& out : out_) out.device = {TESSERA_CUDA, 0};
  }
  void create_and_count() {
    create();
    device.copies = device.waits = 0;
  }
};

TEST_F(HostInput, IsReadWhereItIs) {
  create_and_count();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(host_input, x_);
  EXPECT_EQ(doubled, 20);
  EXPECT_EQ(device.copies, 0);
  EXPECT_EQ(device.waits, 1);  // for the results
}

TEST_F(HostInput, MayBeGivenToAStreamEvenWhileItIsCaptured) {
  create_and_count();
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  device.caller_captures = true;
  doubled = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(doubled, 20);
  EXPECT_EQ(device.copies + device.waits, 0);
}

TEST_F(HostInput, ComesFromTheDeviceIfTheCallerHasItThere) {
  create_and_count();
  use_device_input();
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(doubled, 20);
  EXPECT_NE(host_input, in_.data);
  EXPECT_EQ(device.copies, 1);
  device.caller_captures = true;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` says sizes, which the host reads, and is on the device, whose stream is "
               "being captured: give it in host memory, or run outside of the capture");
}

TEST_F(HostInput, ResultsAreSentWithoutWaiting) {
  create_and_count();
  program.entry = run_and_send;
  int stream = 0;
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(*static_cast<const float*>(out_[0].data), 2);
  }
  EXPECT_EQ(device.copies, 20);
  EXPECT_EQ(device.waits, 1);  // before the memory was there
  device.caller_captures = true;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "the run failed: the stream is being captured, but the program sends numbers that "
               "the host computes: run it outside of the capture");
}

TEST_F(HostInput, WhatIsOnItsWayIsNotWrittenOver) {
  create_and_count();
  program.entry = run_and_send;
  int stream = 0;
  for (int i = 0; i < 1000; ++i) {
    ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  }
  EXPECT_GE(device.waits, 1000 * 64 / (16 << 10));  // each time that the memory is used up
  EXPECT_LE(device.waits, 5);
}

}  // namespace
}  // namespace tessera::runtime
