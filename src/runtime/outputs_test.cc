// SPDX-License-Identifier: Apache-2.0
// Outputs that are the caller's tensors: written where they are, or refused.
#include "runtime/outputs.h"

#include <cstring>

#include "runtime/device_fixture.h"
#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

// The output `y` in the caller's memory, for a result of 2 x 3.
class OutputTest : public ModelTest {
 protected:
  void give(void* data, std::uint64_t byte_offset = 0) {
    out_[0] = {data, {TESSERA_CPU, 0}, 2, kFloat32, shape_, nullptr, byte_offset};
  }
  // The run is refused before the program begins, and the tensor is as it was.
  std::string refusal() {
    const tessera_tensor before = out_[0];
    const std::int64_t shape[2] = {shape_[0], shape_[1]};
    const std::int64_t runs_before = runs;
    const std::string text = error_of_run();
    EXPECT_EQ(std::memcmp(&before, &out_[0], sizeof before), 0);
    EXPECT_EQ(std::memcmp(shape, shape_, sizeof shape), 0);
    EXPECT_EQ(runs, runs_before);
    for (const float y : y_) EXPECT_EQ(y, 0);
    return text;
  }

  alignas(64) float y_[9] = {};
  std::int64_t shape_[2] = {2, 3};
};

TEST_F(OutputTest, TheResultIsWrittenWhereTheCallerWantsIt) {
  create_all();
  shape_[1] = 4;  // more than is needed
  give(y_, 4);
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].data, y_);
  EXPECT_EQ(shape_[1], 3);  // set to the result's
  EXPECT_EQ(y_[0], 0);
  EXPECT_EQ(y_[1], 21);
  EXPECT_EQ(y_[7], 0);
}

// They would say that the rows are further apart than they are.
TEST_F(OutputTest, StridesThatAreGivenFollowTheShape) {
  create_all();
  shape_[1] = 4;
  std::int64_t strides[2] = {4, 1};
  give(y_);
  out_[0].strides = strides;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(shape_[1], 3);
  EXPECT_EQ(strides[0], 3);
  EXPECT_EQ(strides[1], 1);
}

TEST_F(OutputTest, OneThatIsTooSmallIsRefused) {
  create_all();
  give(y_);
  shape_[0] = 1;
  const char* const kRest = ": give a larger tensor, or none (data == NULL) for the instance's own";
  EXPECT_EQ(refusal(), std::string("output `y` needs 24 bytes for a result of shape (2, 3), and "
                                   "was given 12 of shape (1, 3)") +
                           kRest);
  shape_[1] = 0;
  EXPECT_EQ(refusal(), std::string("output `y` needs 24 bytes for a result of shape (2, 3), and "
                                   "was given 0 of shape (1, 0)") +
                           kRest);
  shape_[0] = shape_[1] = std::int64_t{1} << 40;
  EXPECT_EQ(refusal(),
            "output `y` of shape (1099511627776, 1099511627776) has more bytes than 64 bits can "
            "count");
  shape_[0] = 2, shape_[1] = 3;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(y_[5], 126);
}

TEST_F(OutputTest, OneThatIsStridedMisalignedOrElsewhereIsRefused) {
  create_all();
  give(y_);
  std::int64_t strides[2] = {4, 1};
  out_[0].strides = strides;
  EXPECT_EQ(refusal(), "output `y` is strided, the model writes compact row-major tensors");
  give(y_, 2);
  EXPECT_EQ(refusal().find("the data of output `y` are not aligned: 0x"), 0u);
  give(y_);
  out_[0].device = {TESSERA_CUDA, 0};
  EXPECT_EQ(refusal(), "output `y` is on CUDA device 0, the instance on the CPU");
}

// Ranges of strides that overflow are none that are compact.
TEST_F(OutputTest, SizesThatOverflowAreNoCompactTensor) {
  create_all();
  give(y_);
  std::int64_t strides[2] = {0, 1};
  shape_[0] = shape_[1] = std::int64_t{1} << 32;
  out_[0].strides = strides;
  EXPECT_EQ(refusal(), "output `y` is strided, the model writes compact row-major tensors");
}

// The instance's own memory is given again, with whatever its shape says by now.
TEST_F(OutputTest, WhatARunHandedOutIsTheInstancesOwnAgain) {
  create_all();
  ASSERT_EQ(run(), TESSERA_OK);
  std::int64_t empty[2] = {0, 0};
  out_[0].shape = empty;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].shape[1], 3);
}

// A size that the program finds: the run fails when it is known.
TEST_F(OutputTest, ASizeThatDependsOnDataIsCheckedWhenItIsKnown) {
  const std::int64_t unknown[1] = {-1}, low[1] = {0}, high[1] = {8};
  outputs[0] = {"y", kFloat32, 1, unknown, low, high, nullptr, 0, 0};
  program.output_shapes = [](void*, const std::int64_t*, std::int64_t* shapes) { shapes[0] = -1; };
  program.entry = [](const tessera_frame* frame) -> std::int32_t {
    ++*static_cast<std::int64_t*>(frame->context);
    const auto n = static_cast<std::int64_t>(static_cast<const float*>(frame->inputs[0])[0]);
    frame->output_tensors[0].shape[0] = n;
    auto* y = static_cast<float*>(tessera_output_reserve(frame, 0));
    if (y == nullptr) return 1;
    for (std::int64_t i = 0; i < n; ++i) y[i] = 7;
    return 0;
  };
  create_all();
  std::int64_t room[1] = {4};
  out_[0] = {y_, {TESSERA_CPU, 0}, 1, kFloat32, room, nullptr, 0};
  x_[0] = 4;
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(y_[3], 7);
  x_[0] = 5;
  EXPECT_EQ(error_of_run(),
            "the run failed: output `y` needs 20 bytes for a result of shape (5), and was given 16 "
            "of shape (4): give a larger tensor, or none (data == NULL) for the instance's own");
  EXPECT_EQ(out_[0].data, y_);
  EXPECT_EQ(room[0], 4);
  EXPECT_EQ(y_[4], 0);
  EXPECT_EQ(runs, 2);
  out_[0].byte_offset = 2;  // known before
  EXPECT_EQ(error_of_run().find("the data of output `y` are not aligned: 0x"), 0u);
  EXPECT_EQ(runs, 2);
}

// The same of a device, where host tensors are copied to.
TEST_F(DeviceTest, AnOutputThatIsTooSmallOrStridedIsRefused) {
  create();
  use_device_input();
  std::int64_t shape[2] = {2, 2}, strides[2] = {2, 1};
  float y[6] = {};
  auto* there = static_cast<char*>(on_device(sizeof y + 8));
  const auto refusal = [&](void* data, std::int32_t where, std::uint64_t byte_offset = 0) {
    out_[0] = {data, {where, 0}, 2, kFloat32, shape, strides, byte_offset};
    EXPECT_EQ(run(), TESSERA_INVALID_ARGUMENT);
    EXPECT_EQ(out_[0].data, data);
    EXPECT_EQ(runs, 0);
    return std::string(tessera_last_error());
  };
  for (const bool host : {true, false}) {
    void* const data = host ? static_cast<void*>(y) : there;
    const std::int32_t where = host ? TESSERA_CPU : TESSERA_CUDA;
    shape[0] = shape[1] = strides[0] = 2;
    EXPECT_EQ(refusal(data, where).substr(0, 65),
              "output `y` needs 24 bytes for a result of shape (2, 3), and was g");
    shape[1] = 3, strides[0] = 4;
    EXPECT_EQ(refusal(data, where),
              "output `y` is strided, the model writes compact row-major tensors");
  }
  strides[0] = 3;
  EXPECT_EQ(refusal(there, TESSERA_CUDA, 4).find("the data of output `y` are not aligned: 0x"), 0u);
  for (void* data : {static_cast<void*>(y), static_cast<void*>(there)}) {
    out_[0] = {data, place_of(data), 2, kFloat32, shape, strides, 0};
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(out_[0].data, data);
    EXPECT_EQ(static_cast<const float*>(data)[5], 126);
  }
}

}  // namespace
}  // namespace tessera::runtime
