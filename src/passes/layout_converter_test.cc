// SPDX-License-Identifier: Apache-2.0
// Layouts of some operators alone: whichever they are, the function computes what it did; and what
// is said of the values is true.
#include "passes/layout_converter.h"

#include <random>

#include <gtest/gtest.h>

#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "passes/testing/random_inputs.h"
#include "passes/testing/text.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

// Two branches, a transpose that channels last make superfluous, and one that they do not.
constexpr const char* kModel = R"(
def @main(%x: Tensor[(2, 3, 8, 6), float32], %w: Tensor[(4, 3, 3, 3), float32], %b: Tensor[(4), float32],
          %v: Tensor[(4, 4, 1, 1), float32], %u: Tensor[(4, 1, 3, 3), float32], %s: Tensor[(4, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  %3 = nn.conv2d(%2, %v, channels=4, kernel_size=[1, 1]);
  %4 = multiply(%3, %s);
  %5 = nn.conv2d(%2, %u, padding=[1, 1, 1, 1], groups=4, channels=4, kernel_size=[3, 3]);
  %6 = add(%4, %5);
  %7 = (%6, %2);
  %8 = concatenate(%7, axis=1);
  %9 = nn.max_pool2d(%8, pool_size=[2, 2], strides=[2, 2]);
  %10 = nn.pad(%6, pad_width=[[0, 0], [0, 0], [1, 0], [0, 1]]);
  %11 = transpose(%6, axes=[0, 2, 3, 1]);
  %12 = nn.relu(%11);
  %13 = transpose(%12, axes=[0, 3, 1, 2]);
  %14 = nn.conv2d(%13, %v, channels=4, kernel_size=[1, 1]);
  %15 = mean(%14, axis=[2, 3], keepdims=1);
  %16 = multiply(%14, %15);
  %17 = mean(%9, axis=[2, 3]);
  (%16, %10, %17, %9)
})";

class LayoutConverterTest : public ::testing::Test {
 protected:
  LayoutConverterTest() : module_(testing::module_of(kModel)) {
    for (const std::vector<std::string>& texts :
         {std::vector<std::string>{"nn.conv2d:NHWC:OHWI"}, {"nn.conv2d:NHWC"}}) {
      desired_.push_back(parse_desired_layouts(texts).value());
    }
  }
  const relay::Function& plain() const { return module_.functions.at("main"); }
  // Types of what was made are inferred.
  Module module_with(relay::Function f) const {
    Module made;
    made.functions["main"] = std::move(f);
    auto typed = ops::infer_types(std::move(made));
    TESSERA_CHECK(typed.has_value(), "{}", render(typed.error()));
    return *std::move(typed);
  }
  static std::vector<Tensor> results_of(const relay::Function& f) {
    const auto by_name = testing::random_inputs(f);
    std::vector<Tensor> inputs;
    for (const NodeId p : f.params()) inputs.push_back(by_name.at(f.as<relay::Param>(p)->name));
    return ops::evaluate(f, {}, inputs);
  }

  Module module_;
  std::vector<DesiredLayouts> desired_;
};

TEST_F(LayoutConverterTest, AnyChoiceOfLayoutsComputesTheSame) {
  const std::vector<Tensor> wanted = results_of(plain());
  std::mt19937 random(7);
  std::size_t mixed = 0;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::size_t> layouts;
    for (std::size_t i = 0; i < plain().num_nodes(); ++i) layouts.push_back(random() % 3);
    const ConvertedFunction converted =
        converted_layouts(plain(), module_.constants, [&](NodeId id) {
          const std::size_t layout = layouts[id.index()];
          return layout == 0 ? nullptr : &desired_[layout - 1];
        });
    const Module made = module_with(converted.function);
    std::size_t changed = 0, stayed = 0;
    for (std::size_t i = 0; i < plain().num_nodes(); ++i) {
      if (!relay::is_call_of(plain(), NodeId(i), "nn.conv2d")) continue;
      (converted.values[i].is_computed_permuted ? changed : stayed) += 1;
    }
    mixed += changed > 0 && stayed > 0;
    const std::vector<Tensor> found = results_of(made.functions.at("main"));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      EXPECT_LT(ops::relative_difference(found[i], wanted[i]), 1e-5) << "round " << round;
    }
  }
  EXPECT_GT(mixed, 30u);
}

// Shapes of what stands for a value: as it was, and in the order that is said.
TEST_F(LayoutConverterTest, ValuesAreWhereItSays) {
  const ConvertedFunction converted =
      converted_layouts(plain(), module_.constants, [&](NodeId) { return &desired_[0]; });
  const Module made = module_with(converted.function);
  const relay::Function& f = made.functions.at("main");
  std::size_t permuted = 0, views = 0;
  for (std::size_t i = 0; i < plain().num_nodes(); ++i) {
    const ConvertedValue& value = converted.values[i];
    const Type& type = plain().type(NodeId(i));
    if (value.plain) {
      EXPECT_EQ(f.type(value.plain), type) << i;
    }
    views += value.is_view;
    if (!type.is_tensor()) continue;
    for (const NodeId node : value.permuted) {
      if (!node || type.rank() != value.axes.size()) continue;
      ++permuted;
      for (std::size_t d = 0; d < type.rank(); ++d) {
        EXPECT_EQ(f.type(node).shape()[d], type.shape()[static_cast<std::size_t>(value.axes[d])]);
      }
    }
  }
  EXPECT_GT(permuted, 10u);
  EXPECT_EQ(views, 2u) << "the model's own transposes";
}

TEST_F(LayoutConverterTest, WhereNothingIsWantedNothingChanges) {
  const ConvertedFunction converted =
      converted_layouts(plain(), module_.constants, [](NodeId) { return nullptr; });
  EXPECT_EQ(converted.function.num_nodes(), plain().num_nodes());
  for (const ConvertedValue& value : converted.values) {
    EXPECT_FALSE(value.is_computed_permuted);
    EXPECT_EQ(value.plain, value.computed);
  }
}

}  // namespace
}  // namespace tessera::passes
