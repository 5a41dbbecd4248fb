// SPDX-License-Identifier: Apache-2.0
// canonicalize-views leaves the values of random chains of views alone, with products and additions
// between them, and a second run leaves the chains alone.
#include <array>
#include <numeric>
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
using Sizes = std::vector<std::int64_t>;

struct Value {
  NodeId node;
  Sizes sizes;
};

class RandomViews {
 public:
  explicit RandomViews(std::uint32_t seed) : random_(seed) {}

  Module make() {
    const Sizes start = {2, 3, 4, 6};
    values_.push_back({b_.param("x", type_of(start)), start});
    const int steps = 4 + pick(9);
    for (int i = 0; i < steps; ++i) values_.push_back(next(any()));
    const NodeId results[] = {values_.back().node, any().node};
    Module module;
    module.functions["main"] = b_.finish(b_.tuple(results));
    return ops::infer_types(std::move(module)).value();
  }

 private:
  static Type type_of(const Sizes& sizes) {
    return tensor_type({sizes.begin(), sizes.end()}, kFloat32);
  }
  int pick(std::size_t n) { return static_cast<int>(random_() % n); }
  // Mostly the newest: chains are what is looked for.
  Value any() {
    return pick(5) != 0 ? values_.back() : values_[static_cast<std::size_t>(pick(values_.size()))];
  }
  Value call(std::string_view op, std::vector<NodeId> operands, relay::Attrs attrs, Sizes sizes) {
    return {b_.call(ops::op(op), operands, std::move(attrs)), std::move(sizes)};
  }
  NodeId constant(const Sizes& sizes) {
    std::vector<double> values;
    const std::int64_t count =
        std::accumulate(sizes.begin(), sizes.end(), std::int64_t{1}, std::multiplies<>());
    for (std::int64_t i = 0; i < count; ++i) values.push_back(0.125 * (pick(9) - 4));
    return b_.constant(tensor_from_doubles(sizes, kFloat32, values));
  }

  // The same elements under sizes that come of splitting and merging neighbours.
  Sizes other_sizes(Sizes sizes) {
    for (int i = 0; i < 2 + pick(3); ++i) {
      const auto at = static_cast<std::size_t>(pick(sizes.size()));
      const auto here = sizes.begin() + static_cast<std::ptrdiff_t>(at);
      if (pick(2) == 0 && at + 1 < sizes.size()) {
        sizes[at] *= sizes[at + 1];
        sizes.erase(here + 1);
      } else {
        const std::int64_t factor = std::array{2, 3, 1}[static_cast<std::size_t>(pick(3))];
        if (sizes[at] % factor != 0 || sizes.size() > 6) continue;
        sizes[at] /= factor;
        sizes.insert(here + pick(2), factor);
      }
    }
    return sizes;
  }

  Value transpose(const Value& v) {
    Sizes axes(v.sizes.size()), sizes;
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random_);
    for (const std::int64_t a : axes) sizes.push_back(v.sizes[static_cast<std::size_t>(a)]);
    return call("transpose", {v.node}, {{"axes", axes}}, sizes);
  }

  Value slice(const Value& v) {
    const int axis = pick(v.sizes.size());
    Sizes sizes = v.sizes;
    std::int64_t& size = sizes[static_cast<std::size_t>(axis)];
    const std::int64_t begin = pick(static_cast<std::size_t>(size));
    const std::int64_t end = begin + 1 + pick(static_cast<std::size_t>(size - begin));
    size = end - begin;
    return call("strided_slice", {v.node},
                {{"begin", Sizes{begin}},
                 {"end", Sizes{end}},
                 {"strides", Sizes{1}},
                 {"axes", Sizes{axis}}},
                sizes);
  }

  Value take(const Value& v) {
    if (v.sizes.size() < 2) return transpose(v);
    const int axis = pick(v.sizes.size());
    Sizes sizes = v.sizes;
    const std::int64_t place =
        pick(static_cast<std::size_t>(sizes[static_cast<std::size_t>(axis)]));
    sizes.erase(sizes.begin() + axis);
    const NodeId index = b_.constant(
        tensor_from_doubles({}, kInt64, std::vector<double>{static_cast<double>(place)}));
    return call("take", {v.node, index}, {{"axis", axis}, {"mode", "wrap"}}, sizes);
  }

  Value half_of_split(const Value& v) {
    const int axis = pick(v.sizes.size());
    Sizes sizes = v.sizes;
    if (sizes[static_cast<std::size_t>(axis)] % 2 != 0) return transpose(v);
    sizes[static_cast<std::size_t>(axis)] /= 2;
    const NodeId parts =
        b_.call(ops::op("split"), {v.node}, {{"indices_or_sections", 2}, {"axis", axis}});
    return {b_.project(parts, pick(2)), sizes};
  }

  Value product(const Value& v) {
    if (v.sizes.size() < 2) return transpose(v);
    Sizes sizes = v.sizes;
    const std::int64_t terms = sizes.back(),
                       width = std::array{1, 6, 8}[static_cast<std::size_t>(pick(3))];
    sizes.back() = width;
    if (pick(2) == 0) {
      return call("nn.matmul", {v.node, constant({terms, width})}, {{"units", relay::AttrValue()}},
                  sizes);
    }
    return call("nn.dense", {v.node, constant({width, terms})}, {{"units", width}}, sizes);
  }

  Value sum(const Value& v) {
    const bool is_vector = pick(2) == 0 && !v.sizes.empty();
    const NodeId other = constant(is_vector ? Sizes{v.sizes.back()} : v.sizes);
    return pick(2) == 0 ? call("add", {v.node, other}, {}, v.sizes)
                        : call("add", {other, v.node}, {}, v.sizes);
  }

  Value next(const Value& v) {
    if (v.sizes.empty()) return call("nn.relu", {v.node}, {}, v.sizes);
    switch (pick(12)) {
      case 0:
      case 1:
      case 2: {
        const Sizes sizes = other_sizes(v.sizes);
        return call("reshape", {v.node}, {{"newshape", sizes}}, sizes);
      }
      case 3:
      case 4:
      case 5:
        return transpose(v);
      case 6:
        return slice(v);
      case 7:
        return take(v);
      case 8:
        return half_of_split(v);
      case 9:
        return call("nn.relu", {v.node}, {}, v.sizes);
      case 10:
        return product(v);
      default:
        return sum(v);
    }
  }

  std::mt19937 random_;
  relay::FunctionBuilder b_;
  std::vector<Value> values_;
};

TEST(RandomViews, KeepTheirValuesAndStayAsTheyAre) {
  const auto calls = parse_pipeline("canonicalize-views", all_passes()).value();
  ManagerOptions options;
  options.verify_each = true;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Module before = RandomViews(seed).make();
    const auto once = run_passes(before, calls, ops::operators(), options);
    ASSERT_TRUE(once) << "seed " << seed << "\n" << print(before) << render(once.error());
    const Module after = ops::infer_types(once->module).value();
    const auto twice = run_passes(after, calls, ops::operators(), options);
    ASSERT_TRUE(twice) << render(twice.error());
    const Module again = ops::infer_types(twice->module).value();
    EXPECT_EQ(print(again), print(after)) << "seed " << seed << "\n" << print(before);
    const std::vector<Tensor> inputs = {
        testing::random_inputs(before.functions.at("main")).at("x")};
    const auto wanted = ops::evaluate(before, before.functions.at("main"), inputs);
    const auto found = ops::evaluate(after, after.functions.at("main"), inputs);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(found.at(i).shape, wanted[i].shape) << "seed " << seed;
      ASSERT_LT(ops::relative_difference(found.at(i), wanted[i]),
                ops::graph_tolerance(wanted[i].dtype))
          << "seed " << seed << "\n"
          << print(before) << print(after);
    }
  }
}

}  // namespace
}  // namespace tessera::passes
