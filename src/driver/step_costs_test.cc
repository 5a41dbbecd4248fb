// SPDX-License-Identifier: Apache-2.0
#include "driver/step_costs.h"

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class StepCosts : public testing::ModelTest {
 protected:
  std::vector<StepCost> of(const std::string& text) {
    return step_costs(value_of(place_model(options(text))).module);
  }
};

TEST_F(StepCosts, KnowTheirFormalDimensions) {
  const auto steps = of("def @main(%x: Tensor[(?rows, 8), float32]) {\n  exp(%x)\n}\n");
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_EQ(steps[0].dims, std::vector<Dim>{Dim::symbol("rows")});
  EXPECT_EQ(steps[0].bytes, Dim::symbol("rows") * Dim(64));
}

// They may be judged by products with 16-bit operands.
TEST_F(StepCosts, OfSixteenBitsAreNarrow) {
  const std::string model = "def @main(%x: Tensor[(4, 8), {}]) {{\n  exp(%x)\n}}\n";
  const auto is_narrow = [&](const char* type) {
    const auto steps = of(fmt::format(fmt::runtime(model), type));
    return std::any_of(steps.begin(), steps.end(), [](const StepCost& s) { return s.is_narrow; });
  };
  EXPECT_TRUE(is_narrow("float16"));
  EXPECT_TRUE(is_narrow("bfloat16"));
  EXPECT_FALSE(is_narrow("float32"));
}

}  // namespace
}  // namespace tessera::driver
