// SPDX-License-Identifier: Apache-2.0
// Inputs and outputs in the memory of the pools.
#include <cstring>

#include "runtime/model_fixture.h"

namespace tessera::runtime {
namespace {

constexpr std::uint64_t kInputAt = 64, kOutputAt = 128;

class PlacesTest : public ModelTest {
 protected:
  void create_with_places() {
    program.places = places_;
    options_.pools = pools_;
    options_.pool_count = 1;
    create_all(&options_);
  }
  void expect_right(const tessera_tensor& y) {
    const auto* values = static_cast<const float*>(y.data);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(values[i], 2 * x_[i] + weights[i]);
  }

  alignas(64) char arena_[1000] = {};
  void* pools_[1] = {arena_};
  tessera_instance_options options_ = TESSERA_INSTANCE_OPTIONS_INIT;
  tessera_program_place places_[3] = {{0, kInputAt, 24}, {0, kOutputAt, 24}, {}};
};

TEST_F(PlacesTest, TheModelTellsThem) {
  create_with_places();
  tessera_io io = TESSERA_IO_INIT;
  ASSERT_EQ(tessera_model_input(model_, 0, &io), TESSERA_OK);
  EXPECT_EQ(io.pool, 0);
  EXPECT_EQ(io.pool_offset, kInputAt);
  ASSERT_EQ(tessera_model_output(model_, 0, &io), TESSERA_OK);
  EXPECT_EQ(io.pool_offset, kOutputAt);
  ASSERT_EQ(tessera_model_output(model_, 1, &io), TESSERA_OK);
  EXPECT_EQ(io.pool, -1);
}

TEST_F(PlacesTest, NoPlacesNoPool) {
  create_all();
  tessera_io io = TESSERA_IO_INIT;
  io.pool = 7;
  ASSERT_EQ(tessera_model_input(model_, 0, &io), TESSERA_OK);
  EXPECT_EQ(io.pool, -1);
}

TEST_F(PlacesTest, TensorsWithoutDataLieThere) {
  create_with_places();
  std::memcpy(arena_ + kInputAt, x_, sizeof x_);
  in_.data = nullptr;
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
    EXPECT_EQ(out_[0].data, arena_ + kOutputAt);
    expect_right(out_[0]);
  }
  in_.dtype = kInt64;
  EXPECT_EQ(error_of_run(), "input `x` has dtype int64, the model takes float32");
}

// A caller may say the address of the place, or keep its tensors elsewhere.
TEST_F(PlacesTest, TensorsWithDataMayLieThereOrElsewhere) {
  create_with_places();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  expect_right(out_[0]);
  std::memcpy(arena_ + kInputAt, x_, sizeof x_);
  in_.data = arena_ + kInputAt;
  float y[6] = {};
  out_[0] = {y, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  EXPECT_EQ(out_[0].data, y);
  expect_right(out_[0]);
}

TEST_F(PlacesTest, ElsewhereInAPoolIsRefused) {
  create_with_places();
  in_.data = arena_ + kInputAt + 16;
  EXPECT_EQ(error_of_run(),
            "input `x` lies in the memory of the instance's pool `arena`: give it other memory");
}

// What a run wrote is no input of the next one: it would be overwritten while it is read.
TEST_F(PlacesTest, AResultIsNoInputWhereItIs) {
  create_with_places();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  in_.data = out_[0].data;
  EXPECT_EQ(error_of_run(),
            "input `x` lies in the memory of the instance's pool `arena`: give it other memory");
}

TEST_F(PlacesTest, TheirBytesCountOnce) {
  create_with_places();
  ASSERT_EQ(run(), TESSERA_OK) << tessera_last_error();
  tessera_memory memory = TESSERA_MEMORY_INIT;
  ASSERT_EQ(tessera_instance_memory(instance_, &memory), TESSERA_OK);
  EXPECT_EQ(memory.pool_bytes, 1000u);
  EXPECT_EQ(memory.other_bytes, 24u + 8u);  // the workspace, and the output without a place
}

}  // namespace
}  // namespace tessera::runtime
