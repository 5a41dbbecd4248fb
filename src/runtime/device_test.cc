// SPDX-License-Identifier: Apache-2.0
// Instances on a device, with a device whose memory is the host's: which copies, checks and
// recordings there are, and every refusal.
#include "runtime/device.h"

#include "runtime/device_arch.h"
#include "runtime/device_fixture.h"

namespace tessera::runtime {
namespace {

TEST_F(DeviceTest, HostTensorsAreCopiedAndResultsComeBack) {
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
  EXPECT_EQ(out_[0].device.device_type, TESSERA_CUDA_HOST);
  EXPECT_EQ(place_of(out_[0].data).device_type, TESSERA_CUDA_HOST);
  std::uint64_t ns = 0;
  EXPECT_EQ(tessera_instance_device_ns(instance_, &ns), TESSERA_OK);
  EXPECT_EQ(ns, 1000u);
}

TEST_F(DeviceTest, TheCallersHostTensorIsWritten) {
  create();
  float y[6] = {};
  std::int64_t shape[2] = {2, 3};
  out_[0] = {y, {TESSERA_CPU, 0}, 2, kFloat32, shape, nullptr, 0};
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].data, y);
  EXPECT_EQ(y[5], 126);
}

TEST_F(DeviceTest, ResultsStayOnTheDeviceIfAskedTo) {
  create();
  out_[0].device = {TESSERA_CUDA, 0};
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(place_of(out_[0].data).device_type, TESSERA_CUDA);
  void* first = out_[0].data;
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(out_[0].data, first);
}

TEST_F(DeviceTest, ConstantsAreUploadedOnceForAllInstances) {
  create();
  const int copies = device.copies;
  EXPECT_EQ(copies, 1);
  tessera_instance* second = nullptr;
  ASSERT_EQ(tessera_instance_create(model_, nullptr, &second), TESSERA_OK);
  EXPECT_EQ(device.copies, copies);
  tessera_instance_destroy(second);
}

TEST_F(DeviceTest, TheSecondRunIsRecordedAndLaterOnesAreReplayed) {
  create();
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 0);
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 1);
  EXPECT_EQ(device.replays, 1);
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(runs, 2);  // calls of the program itself
  EXPECT_EQ(device.replays, 2);
  use_device_input();  // another pointer: neither replayed nor recorded
  ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(runs, 3);
  EXPECT_EQ(device.graphs, 0);
}

// From the host or the device; a recording does not outlive the pointers that it was made with.
TEST_F(DeviceTest, AKeptWeightIsUploadedWhenItIsSet) {
  keep_weight();
  create();
  const auto last = [&] {
    EXPECT_EQ(run(), TESSERA_OK) << tessera_last_error();
    return static_cast<const float*>(out_[0].data)[5];
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(last(), 126);
  EXPECT_EQ(device.graphs, 1);
  float values[6] = {0, 0, 0, 0, 0, 1000};
  tessera_tensor w = {values, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", &w), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(last(), 1120);
  EXPECT_EQ(device.graphs, 0);
  w.data = on_device(sizeof values);
  std::memset(w.data, 0, sizeof values);
  w.device = {TESSERA_CUDA, 0};
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", &w), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(last(), 120);
  w.device = {TESSERA_CPU, 0};
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", &w), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "kept weight `w` is said to be in host memory, but its data are on the device: set "
               "`device` of the tensor");
  ASSERT_EQ(tessera_instance_set_weight(instance_, "w", nullptr), TESSERA_OK);
  EXPECT_EQ(last(), 126);
}

TEST_F(DeviceTest, NothingIsRecordedIfSwitchedOffOrImpossible) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.no_replay = 1;
  create(&options);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 0);
  EXPECT_EQ(runs, 3);
}

TEST_F(DeviceTest, ARunComputesAsOftenAsAskedInOneRecording) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.repeats = 3;
  create(&options);
  for (int i = 0; i < 4; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 1);
  EXPECT_EQ(device.replays, 3);
  EXPECT_EQ(runs, 6) << "three of the first run, three that were recorded";
}

// By its table, or by what its back end answers when the states are there.
TEST_F(DeviceTest, ASymbolMayForbidThatItIsRecorded) {
  symbol.capturable = 0;
  create();
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 0);
  use_device_input();
  device.caller_captures = true;
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "the stream is being captured, and `k` must not be recorded, as its back end says: "
               "run on another stream");
  device.caller_captures = false;
  EXPECT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
}

TEST_F(DeviceTest, ABackEndIsAskedWhetherItIsRecorded) {
  symbol.capturable_query = [](const tessera_states* states, tessera_device on) -> std::int32_t {
    EXPECT_EQ(on.device_type, TESSERA_CUDA);
    EXPECT_NE(states->call_site, nullptr);
    return device.may_record ? 1 : 0;
  };
  device.may_record = true;
  create();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 1);
  device.may_record = false;
  tessera_instance* second = nullptr;
  ASSERT_EQ(tessera_instance_create(model_, nullptr, &second), TESSERA_OK);
  tessera_tensor out[2] = {};
  for (int i = 0; i < 2; ++i) ASSERT_EQ(tessera_instance_run(second, &in_, 1, out, 2), TESSERA_OK);
  EXPECT_EQ(device.recordings, 1);
  tessera_instance_destroy(second);
}

TEST_F(DeviceTest, ARecordingThatFailsIsTriedOnce) {
  create();
  device.records = false;
  for (int i = 0; i < 4; ++i) ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(device.recordings, 1);
  EXPECT_EQ(device.replays, 0);
}

// What the recording of a run says is not why the run failed.
TEST_F(DeviceTest, ARunThatIsNotRecordedHasItsOwnError) {
  program.entry = [](const tessera_frame* frame) -> std::int32_t {
    auto& calls = *static_cast<std::int64_t*>(frame->context);
    if (++calls == 1) return 0;
    frame->call->set_error(frame->call,
                           device.capturing ? "in a recording" : "the disk is on fire");
    return 1;
  };
  create();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  ASSERT_EQ(run(), TESSERA_KERNEL_FAILED);
  EXPECT_EQ(device.recordings, 1);
  EXPECT_STREQ(tessera_last_error(), "the run failed: the disk is on fire");
}

TEST_F(DeviceTest, RunsThatFailAreNoReasonNotToRecordLaterOnes) {
  program.entry = [](const tessera_frame* frame) -> std::int32_t {
    return ++*static_cast<std::int64_t*>(frame->context) <= 2 ? 1 : 0;
  };
  create();
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run(), TESSERA_KERNEL_FAILED);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(device.recordings, 1);
  EXPECT_EQ(device.replays, 2);
}

TEST_F(DeviceTest, OptionsOfAnOlderCallerAreTaken) {
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.struct_bytes = offsetof(tessera_instance_options, no_replay);
  options.no_replay = 1;  // not there for such a caller
  create(&options);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 1);
}

TEST_F(DeviceTest, RunOnStreamTakesTensorsOfTheDevice) {
  create();
  use_device_input();
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(place_of(out_[0].data).device_type, TESSERA_CUDA);
  EXPECT_EQ(static_cast<const float*>(out_[0].data)[5], 126);
  EXPECT_EQ(tessera_instance_synchronize(instance_), TESSERA_OK);
}

TEST_F(DeviceTest, RunOnStreamRefusesHostTensors) {
  create();
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is in host memory, and tessera_instance_run_on_stream takes tensors of "
               "the device: copy it there, or call tessera_instance_run");
}

TEST_F(DeviceTest, AStreamThatCannotBeUsedStopsTheRunAlone) {
  create();
  use_device_input();
  for (int i = 0; i < 2; ++i) {  // the first run waits for nothing
    ASSERT_EQ(run_on_stream(&foreign_stream), TESSERA_INVALID_ARGUMENT);
    EXPECT_STREQ(tessera_last_error(), "the stream cannot be used: of another device");
    ASSERT_EQ(run_on_stream(&own_stream), TESSERA_OK) << tessera_last_error();
  }
}

TEST_F(DeviceTest, ATensorThatIsNotWhereItSaysIsRefused) {
  create();
  in_.device = {TESSERA_CUDA, 0};  // the data are the host's
  ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is said to be on the device, but its data are in host memory: set "
               "`device` of the tensor");
  use_device_input();
  in_.device = {TESSERA_CPU, 0};
  ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is said to be in host memory, but its data are on the device: set "
               "`device` of the tensor");
  in_.device = {TESSERA_CUDA, 3};
  ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is on CUDA device 3, the instance on CUDA device 0");
  in_.device = {TESSERA_CUDA, 0};
  device.places[in_.data] = {TESSERA_CUDA, 1};
  ASSERT_EQ(run(), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(tessera_last_error(),
               "input `x` is said to be on the instance's device, 0, but its data are on device 1");
}

TEST_F(DeviceTest, WhileTheCallerRecordsNothingIsAllocatedOrRecorded) {
  create();
  use_device_input();
  device.caller_captures = true;
  int stream = 0;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_INVALID_ARGUMENT);
  EXPECT_STREQ(
      tessera_last_error(),
      "memory for output `y` is needed while the stream is being captured: run once before, or "
      "give a tensor for it");
  device.caller_captures = false;
  for (int i = 0; i < 2; ++i) ASSERT_EQ(run_on_stream(&stream), TESSERA_OK);
  const int replays = device.replays;
  device.caller_captures = true;
  ASSERT_EQ(run_on_stream(&stream), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(device.replays, replays);
}

TEST_F(DeviceTest, CreateSaysWhatTheDeviceLacks) {
  device.has_driver = false;
  ASSERT_EQ(try_create(), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(), "there is no driver");
  device.has_driver = true;
  tessera_instance_options options = TESSERA_INSTANCE_OPTIONS_INIT;
  options.device = {TESSERA_CUDA, 2};
  ASSERT_EQ(tessera_instance_create(model_, &options, &instance_), TESSERA_WRONG_MACHINE);
  EXPECT_STREQ(tessera_last_error(), "there is no GPU of that number");
  device.free_bytes = 512;
  ASSERT_EQ(tessera_instance_create(model_, nullptr, &instance_), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(), "memory for arena: out of device memory");
}

TEST(DeviceArch, OlderAndOtherGpusAreTold) {
  EXPECT_TRUE(runs_on("sm_90a", 9, 0));
  EXPECT_FALSE(runs_on("sm_90a", 10, 0));
  EXPECT_FALSE(runs_on("sm_90a", 8, 0));
  EXPECT_TRUE(runs_on("sm_80", 8, 9));
  EXPECT_FALSE(runs_on("sm_86", 8, 0));
  EXPECT_FALSE(runs_on("sm_80", 9, 0));
  EXPECT_TRUE(runs_on("sm_80+ptx", 12, 0));
  EXPECT_FALSE(runs_on("sm_80+ptx", 7, 5));
}

// A flag and a fault of 64 bytes each, an arena of 1000, a workspace of 24 and as many constants;
// then an input of 24 and outputs of 24 and 8, and as many on the host.
TEST_F(DeviceTest, TheMemoryOfAnInstanceIsTold) {
  create();
  const auto told = [&] {
    tessera_memory m = TESSERA_MEMORY_INIT;
    EXPECT_EQ(tessera_instance_memory(instance_, &m), TESSERA_OK) << tessera_last_error();
    return std::vector<std::uint64_t>{m.constant_bytes, m.pool_bytes, m.other_bytes,
                                      m.pinned_bytes};
  };
  EXPECT_EQ(told(), (std::vector<std::uint64_t>{24, 1000, 24, 128}));
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(run(), TESSERA_OK);
    EXPECT_EQ(told(), (std::vector<std::uint64_t>{24, 1000, 24 + 56, 128 + 56}));
  }
  EXPECT_EQ(tessera_instance_memory(instance_, nullptr), TESSERA_INVALID_ARGUMENT);
}

// All that the device does takes a microsecond; copies read and write what there is memory for.
TEST_F(DeviceTest, RatesAreMeasured) {
  create();
  tessera_rates rates = TESSERA_RATES_INIT;
  ASSERT_EQ(tessera_instance_rates(instance_, &rates), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(rates.struct_bytes, sizeof rates);
  EXPECT_EQ(rates.bytes_per_second, 1e6 * (1 << 20));
  EXPECT_EQ(rates.float32_flops_per_second, 2e9);
  EXPECT_EQ(rates.float16_flops_per_second, 8e9);
  ASSERT_EQ(run(), TESSERA_OK);  // as before
}

TEST_F(DeviceTest, RatesThatCannotBeMeasuredAreTold) {
  create();
  tessera_rates rates = TESSERA_RATES_INIT;
  device.multiplies = false;
  EXPECT_EQ(tessera_instance_rates(instance_, &rates), TESSERA_KERNEL_FAILED);
  EXPECT_STREQ(tessera_last_error(), "no products");
  device.multiplies = true;
  device.free_bytes = 1000;
  EXPECT_EQ(tessera_instance_rates(instance_, &rates), TESSERA_OUT_OF_MEMORY);
  EXPECT_STREQ(tessera_last_error(), "out of device memory");
  EXPECT_EQ(tessera_instance_rates(instance_, nullptr), TESSERA_INVALID_ARGUMENT);
}

TEST_F(DeviceTest, ProfileHasTheDevicesTimes) {
  create();
  ASSERT_EQ(tessera_instance_profile(instance_, 1), TESSERA_OK);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(run(), TESSERA_OK);
  EXPECT_EQ(device.recordings, 0);
  tessera_profile_entry entry = TESSERA_PROFILE_ENTRY_INIT;
  ASSERT_EQ(tessera_instance_profile_entry(instance_, 0, &entry), TESSERA_OK);
  EXPECT_EQ(entry.calls, 3u);
  EXPECT_EQ(entry.total_ns, 3000u);
}

}  // namespace
}  // namespace tessera::runtime
