// SPDX-License-Identifier: Apache-2.0
// Reductions. Axes are an attribute in old opsets and an input in newer ones.
#include "import/converters.h"

namespace tessera::import {
namespace {

using Ints = std::vector<std::int64_t>;

// The axes to reduce over; nothing means the input itself.
std::optional<Ints> reduced_axes(Node& n) {
  const std::int64_t rank = n.rank(n.input(0));
  Ints axes = n.has_attr("axes") ? n.ints_attr("axes")
              : n.has_input(1)   ? n.need_ints(1, "a list of axes")
                                 : Ints{};
  if (axes.empty()) {
    if (n.int_attr("noop_with_empty_axes", 0) != 0) return std::nullopt;
    for (std::int64_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  for (std::int64_t& a : axes) a = n.axis(a, rank);
  return axes;
}

NodeId reduce(Node& n, std::string_view op, NodeId x, const Ints& axes) {
  return n.call(op, {x}, {{"axis", axes}, {"keepdims", n.int_attr("keepdims", 1) != 0}});
}

// `before` is applied to the input, `after` to the result.
template <class Before, class After>
std::vector<NodeId> composed(Node& n, std::string_view op, Before before, After after) {
  const auto axes = reduced_axes(n);
  const NodeId x = before(n.input(0));
  return {after(axes ? reduce(n, op, x, *axes) : x)};
}

constexpr auto kUnchanged = [](NodeId x) { return x; };

std::vector<NodeId> plain(Node& n, std::string_view op) {
  return composed(n, op, kUnchanged, kUnchanged);
}

std::vector<NodeId> convert_sum(Node& n) { return plain(n, "sum"); }
std::vector<NodeId> convert_mean(Node& n) { return plain(n, "mean"); }
std::vector<NodeId> convert_max(Node& n) { return plain(n, "max"); }
std::vector<NodeId> convert_min(Node& n) { return plain(n, "min"); }
std::vector<NodeId> convert_prod(Node& n) { return plain(n, "prod"); }

std::vector<NodeId> convert_l1(Node& n) {
  return composed(n, "sum", [&](NodeId x) { return n.call("abs", {x}); }, kUnchanged);
}
std::vector<NodeId> convert_sum_square(Node& n) {
  return composed(n, "sum", [&](NodeId x) { return n.call("multiply", {x, x}); }, kUnchanged);
}
std::vector<NodeId> convert_l2(Node& n) {
  return composed(n, "sum", [&](NodeId x) { return n.call("multiply", {x, x}); },
                  [&](NodeId y) { return n.call("sqrt", {y}); });
}
std::vector<NodeId> convert_log_sum(Node& n) {
  return composed(n, "sum", kUnchanged, [&](NodeId y) { return n.call("log", {y}); });
}
std::vector<NodeId> convert_log_sum_exp(Node& n) {
  return composed(n, "sum", [&](NodeId x) { return n.call("exp", {x}); },
                  [&](NodeId y) { return n.call("log", {y}); });
}

std::vector<NodeId> arg(Node& n, std::string_view op) {
  const NodeId x = n.input(0);
  const std::int64_t axis = n.axis(n.int_attr("axis", 0), n.rank(x));
  return {n.call(op, {x}, {{"axis", Ints{axis}},
                           {"keepdims", n.int_attr("keepdims", 1) != 0},
                           {"select_last_index", n.int_attr("select_last_index", 0) != 0},
                           {"dtype", kInt64}})};
}

std::vector<NodeId> convert_argmax(Node& n) { return arg(n, "argmax"); }
std::vector<NodeId> convert_argmin(Node& n) { return arg(n, "argmin"); }

constexpr Converter kTable[] = {
    {"ReduceSum", 1, convert_sum},
    {"ReduceMean", 1, convert_mean},
    {"ReduceMax", 1, convert_max},
    {"ReduceMin", 1, convert_min},
    {"ReduceProd", 1, convert_prod},
    {"ReduceL1", 1, convert_l1},
    {"ReduceL2", 1, convert_l2},
    {"ReduceSumSquare", 1, convert_sum_square},
    {"ReduceLogSum", 1, convert_log_sum},
    {"ReduceLogSumExp", 1, convert_log_sum_exp},
    {"ArgMax", 1, convert_argmax},
    {"ArgMin", 1, convert_argmin},
};

}  // namespace

extern const std::span<const Converter> reduce_converters;
const std::span<const Converter> reduce_converters = kTable;

}  // namespace tessera::import
