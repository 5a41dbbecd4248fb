// SPDX-License-Identifier: Apache-2.0
// Passes leave the values of random graphs alone. All dimensions are equal, so that a mistaken
// order of them shows in the values and not in the types.
#include <random>

#include <gtest/gtest.h>

#include "module/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "passes/testing/random_inputs.h"

namespace tessera::passes {
namespace {

using relay::NodeId;

constexpr std::int64_t kSize = 3;

class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t seed) : random_(seed) {}

  Module make() {
    values_.push_back(b_.param("x", tensor_type({kSize, kSize, kSize, kSize}, kFloat32)));
    for (int i = 0; i < 14; ++i) values_.push_back(next());
    std::vector<NodeId> results = {values_.back()};
    if (pick(3) == 0) results.push_back(any());
    Module module;
    module.functions["main"] = b_.finish(b_.tuple(results));
    return ops::infer_types(std::move(module)).value();
  }

 private:
  int pick(int n) { return static_cast<int>(random_() % static_cast<std::uint32_t>(n)); }
  // Mostly the newest: chains are what passes look for.
  NodeId any() {
    return pick(4) != 0 ? values_.back()
                        : values_[static_cast<std::size_t>(pick(static_cast<int>(values_.size())))];
  }
  NodeId call(std::string_view op, std::vector<NodeId> operands, relay::Attrs attrs = {}) {
    return b_.call(ops::op(op), operands, std::move(attrs));
  }
  NodeId constant(std::vector<std::int64_t> shape, bool positive) {
    std::vector<double> values;
    std::int64_t count = 1;
    for (const std::int64_t d : shape) count *= d;
    for (std::int64_t i = 0; i < count; ++i) {
      const double size = 0.25 * (1 + pick(6));
      values.push_back(positive || pick(2) != 0 ? size : -size);
    }
    return b_.constant(tensor_from_doubles(std::move(shape), kFloat32, values));
  }
  std::vector<std::int64_t> permutation() {
    std::vector<std::int64_t> axes = {0, 1, 2, 3};
    std::shuffle(axes.begin(), axes.end(), random_);
    return axes;
  }
  std::vector<std::int64_t> channel_shape() {
    return pick(3) == 0 ? std::vector<std::int64_t>{kSize} : std::vector<std::int64_t>{kSize, 1, 1};
  }
  NodeId convolution() {
    const bool last = pick(3) == 0;
    const int groups = pick(3) == 0 ? 3 : 1;
    const std::int64_t in = kSize / groups;
    const NodeId w = constant(last ? std::vector<std::int64_t>{1, 1, in, kSize}
                                   : std::vector<std::int64_t>{kSize, in, 1, 1},
                              false);
    relay::Attrs attrs = {{"groups", groups}};
    if (last) attrs = {{"groups", groups}, {"data_layout", "NHWC"}, {"kernel_layout", "HWIO"}};
    return call("nn.conv2d", {any(), w}, attrs);
  }
  NodeId next() {
    switch (pick(11)) {
      case 0:
        return call("nn.relu", {any()});
      case 1:
        return call("tanh", {any()});
      case 2:
        return call("add", {any(), any()});
      case 3:
        return call("multiply", {any(), constant(channel_shape(), pick(2) == 0)});
      case 4:
        return call("add", {constant(channel_shape(), false), any()});
      case 5:
        return call("transpose", {any()}, {{"axes", permutation()}});
      case 6: {
        const NodeId both[] = {any(), any()};
        const std::int64_t axis = pick(4);
        const NodeId joined = call("concatenate", {b_.tuple(both)}, {{"axis", axis}});
        return b_.project(call("split", {joined}, {{"indices_or_sections", 2}, {"axis", axis}}),
                          pick(2));
      }
      case 7:
        return call("subtract",
                    {any(), call("mean", {any()},
                                 {{"axis", relay::AttrArray{pick(4)}}, {"keepdims", true}})});
      case 8:
        return call("nn.bias_add", {any(), constant({kSize}, false)}, {{"axis", pick(4)}});
      default:
        return convolution();
    }
  }

  std::mt19937 random_;
  relay::FunctionBuilder b_;
  std::vector<NodeId> values_;
};

class RandomGraphs : public ::testing::TestWithParam<std::string> {};

TEST_P(RandomGraphs, KeepTheirValues) {
  const auto calls = parse_pipeline(GetParam(), all_passes()).value();
  ManagerOptions options;
  options.verify_each = true;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Module before = RandomGraph(seed).make();
    auto outcome = run_passes(before, calls, ops::operators(), options);
    ASSERT_TRUE(outcome) << render(outcome.error());
    const Module after = ops::infer_types(std::move(outcome->module)).value();
    const std::vector<Tensor> inputs = {
        testing::random_inputs(before.functions.at("main")).at("x")};
    const auto wanted = ops::evaluate(before, before.functions.at("main"), inputs);
    const auto found = ops::evaluate(after, after.functions.at("main"), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_LT(ops::relative_difference(found.at(i), wanted[i]),
                ops::graph_tolerance(wanted[i].dtype))
          << "seed " << seed << "\n"
          << print(before) << print(after);
    }
  }
}

TEST(RandomGraphs, InMixedPrecisionAreNearAndStayAsTheyAre) {
  const auto calls = parse_pipeline("to-mixed-precision", all_passes()).value();
  ManagerOptions options;
  options.verify_each = true;
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    const Module before = RandomGraph(seed).make();
    const Module once = run_passes(before, calls, ops::operators(), options).value().module;
    const Module twice = run_passes(once, calls, ops::operators(), options).value().module;
    EXPECT_EQ(print(twice), print(once)) << "seed " << seed;
    const Module after = ops::infer_types(once).value();
    const std::vector<Tensor> inputs = {
        testing::random_inputs(before.functions.at("main")).at("x")};
    const auto wanted = ops::evaluate(before, before.functions.at("main"), inputs);
    const auto found = ops::evaluate(after, after.functions.at("main"), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_LT(ops::relative_difference(found.at(i), wanted[i]), 2e-2)
          << "seed " << seed << "\n"
          << print(before) << print(after);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Passes, RandomGraphs,
    ::testing::Values("fold-constant", "simplify-expr", "fold-scale-axis",
                      "eliminate-common-subexpr", "convert-layout{desired=[nn.conv2d:NHWC]}",
                      "convert-layout{desired=[nn.conv2d:NCHW]}", "fuse-ops",
                      "fuse-ops{max_depth=3}",
                      "simplify-expr,fold-scale-axis,convert-layout{desired=[nn.conv2d:NHWC]},"
                      "simplify-expr,fold-constant,eliminate-common-subexpr,fuse-ops"));

}  // namespace
}  // namespace tessera::passes
