// SPDX-License-Identifier: Apache-2.0
// An instance of program_fixture.h's program on the CPU, and what a run of it is given.
#pragma once

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "runtime/program_fixture.h"

namespace tessera::runtime {

class ModelTest : public ::testing::Test, public ProgramFixture {
 protected:
  ~ModelTest() override {
    tessera_instance_destroy(instance_);
    tessera_model_destroy(model_);
  }

  std::int32_t create(const tessera_model_options* options = nullptr) {
    return tessera_model_create_from(&program, {}, options, &model_);
  }
  void create_all(const tessera_instance_options* options = nullptr) {
    ASSERT_EQ(create(), TESSERA_OK) << tessera_last_error();
    ASSERT_EQ(tessera_instance_create(model_, options, &instance_), TESSERA_OK)
        << tessera_last_error();
  }
  std::int32_t run() { return tessera_instance_run(instance_, &in_, 1, out_, 2); }
  // The sentence of a run that must fail.
  std::string error_of_run() {
    EXPECT_EQ(run(), TESSERA_INVALID_ARGUMENT);
    return tessera_last_error();
  }

  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
  alignas(64) float x_[6] = {10, 20, 30, 40, 50, 60};
  std::int64_t in_shape_[2] = {2, 3};
  tessera_tensor in_ = {x_, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  tessera_tensor out_[2] = {};
};

}  // namespace tessera::runtime
