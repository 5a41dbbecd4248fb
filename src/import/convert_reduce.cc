// SPDX-License-Identifier: Apache-2.0
// Reductions. Axes are an attribute in old opsets and an input in newer ones.
#include <bit>

#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

Ints reduced_shape(const Ints& sizes, const Ints& axes, bool keepdims) {
  std::vector<bool> reduced(sizes.size(), false);
  for (const std::int64_t a : axes) reduced[static_cast<std::size_t>(a)] = true;
  Ints shape;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (!reduced[i]) shape.push_back(sizes[i]);
    if (reduced[i] && keepdims) shape.push_back(1);
  }
  return shape;
}

// The dimensions whose bits are set.
Ints axes_of_bits(unsigned bits) {
  Ints axes;
  for (std::int64_t i = 0; bits != 0; ++i, bits >>= 1) {
    if ((bits & 1) != 0) axes.push_back(i);
  }
  return axes;
}

// Axes that come at run time are settled if one choice alone gives the shape that the model states.
Ints stated_axes(Node& n, std::size_t count, bool keepdims) {
  const Ints sizes = n.sizes(n.input(0));
  const auto declared = n.declared_shape(0);
  constexpr std::size_t kMostDims = 16;  // of which all sets are tried
  if (!declared || sizes.size() > kMostDims) n.need_constant(1, "a list of axes");
  std::optional<Ints> found;
  for (unsigned bits = 0; bits < 1U << sizes.size(); ++bits) {
    if (static_cast<std::size_t>(std::popcount(bits)) != count) continue;
    Ints axes = axes_of_bits(bits);
    if (reduced_shape(sizes, axes, keepdims) != *declared) continue;
    if (found) n.need_constant(1, "a list of axes");
    found = std::move(axes);
  }
  if (!found) n.need_constant(1, "a list of axes");
  return *found;
}

Ints given_axes(Node& n, bool keepdims) {
  if (n.has_attr("axes")) return n.ints_attr("axes");
  if (!n.has_input(1)) return {};
  if (const auto known = n.known_ints(1)) return *known;
  const std::int64_t count = product(n.sizes(n.input(1)));
  return count == 0 ? Ints{} : stated_axes(n, static_cast<std::size_t>(count), keepdims);
}

// The axes to reduce over; nothing means the input itself.
std::optional<Ints> reduced_axes(Node& n, bool keepdims) {
  const std::int64_t rank = n.rank(n.input(0));
  const bool noop = n.flag_attr("noop_with_empty_axes", false);
  Ints axes = given_axes(n, keepdims);
  if (axes.empty()) return noop ? std::nullopt : std::optional(range(0, rank));
  for (std::int64_t& a : axes) a = n.axis(a, rank);
  return axes;
}

// One axis that comes at run time: all that give the stated shape are computed, and one is taken.
template <class Reduce>
std::optional<Value> with_runtime_axis(Node& n, Reduce reduce, Value x, bool keepdims) {
  if (n.has_attr("axes") || !n.has_input(1) || n.known_ints(1)) return std::nullopt;
  const auto declared = n.declared_shape(0);
  if (!declared || product(n.sizes(n.input(1))) != 1) return std::nullopt;
  const Value axis = floor_mod(input(n, 1).cast(kInt64).reshape({}), static_cast<double>(x.rank()));
  std::optional<Value> result;
  for (std::int64_t d = 0; d < x.rank(); ++d) {
    if (reduced_shape(x.sizes(), {d}, keepdims) != *declared) continue;
    const Value one = reduce(x, Ints{d});
    result = result ? where(equal(axis, static_cast<double>(d)), one, *result) : one;
  }
  return result;
}

// `before` is applied to the input, `after` to the result.
template <class Before, class After>
std::vector<NodeId> composed(Node& n, std::string_view op, Before before, After after) {
  const bool keepdims = n.flag_attr("keepdims", true);
  const Value x = before(input(n, 0));
  n.ignore_attr("noop_with_empty_axes");
  const auto reduce = [&](Value v, const Ints& axes) {
    return v.apply(op, {{"axis", axes}, {"keepdims", keepdims}});
  };
  if (const auto result = with_runtime_axis(n, reduce, x, keepdims)) return {after(*result)};
  const auto axes = reduced_axes(n, keepdims);
  if (!axes) return {after(x)};
  return {after(reduce(x, *axes))};
}

constexpr auto kUnchanged = [](Value x) { return x; };
constexpr auto kSquare = [](Value x) { return x * x; };
constexpr auto kLog = [](Value x) { return x.apply("log"); };

std::vector<NodeId> plain(Node& n, std::string_view op) {
  return composed(n, op, kUnchanged, kUnchanged);
}

std::vector<NodeId> convert_sum(Node& n) { return plain(n, "sum"); }
// Sums of narrow integers need not fit their type.
std::vector<NodeId> convert_mean(Node& n) {
  const DType dtype = n.dtype(n.input(0));
  if (dtype.is_float() || dtype.bits == 64) return plain(n, "mean");
  return composed(
      n, "mean", [](Value x) { return x.cast(kInt64); },
      [dtype](Value y) { return y.cast(dtype); });
}
std::vector<NodeId> convert_prod(Node& n) { return plain(n, "prod"); }

// With bools, since opset 20: is any true, are all true?
std::vector<NodeId> convert_max(Node& n) {
  return plain(n, n.dtype(n.input(0)).is_bool() ? "any" : "max");
}
std::vector<NodeId> convert_min(Node& n) {
  return plain(n, n.dtype(n.input(0)).is_bool() ? "all" : "min");
}
std::vector<NodeId> convert_l1(Node& n) {
  return composed(
      n, "sum", [](Value x) { return x.apply("abs"); }, kUnchanged);
}
std::vector<NodeId> convert_sum_square(Node& n) { return composed(n, "sum", kSquare, kUnchanged); }
std::vector<NodeId> convert_l2(Node& n) {
  return composed(n, "sum", kSquare, [](Value y) { return y.apply("sqrt"); });
}
std::vector<NodeId> convert_log_sum(Node& n) { return composed(n, "sum", kUnchanged, kLog); }

// log(sum(exp(x - m))) + m with m = max(x), which does not overflow.
Value log_sum_exp(Value x, const Ints& axes, bool keepdims) {
  const Value largest = x.apply("max", {{"axis", axes}, {"keepdims", true}});
  // An infinite one is not to be subtracted: what is left would be NaN.
  const Value most = where(largest.apply("isfinite"), largest, largest.number(0));
  const Value sum = (x - most).apply("exp").sum(axes);
  const Value result = sum.apply("log") + most;
  return keepdims || axes.empty() ? result : result.apply("squeeze", {{"axis", axes}});
}

std::vector<NodeId> convert_log_sum_exp(Node& n) {
  const bool keepdims = n.flag_attr("keepdims", true);
  const Value x = input(n, 0);
  const auto reduce = [&](Value v, const Ints& axes) { return log_sum_exp(v, axes, keepdims); };
  n.ignore_attr("noop_with_empty_axes");
  if (const auto result = with_runtime_axis(n, reduce, x, keepdims)) return {*result};
  const auto axes = reduced_axes(n, keepdims);
  return {axes ? reduce(x, *axes) : x};
}

std::vector<NodeId> arg(Node& n, std::string_view op) {
  const NodeId x = n.input(0);
  return {n.call(op, {x},
                 {{"axis", Ints{n.axis_attr(0, x)}},
                  {"keepdims", n.flag_attr("keepdims", true)},
                  {"select_last_index", n.flag_attr("select_last_index", false)},
                  {"dtype", kInt64}})};
}

std::vector<NodeId> convert_argmax(Node& n) { return arg(n, "argmax"); }
std::vector<NodeId> convert_argmin(Node& n) { return arg(n, "argmin"); }

constexpr Converter kReduceTable[] = {
    {"ReduceSum", 1, convert_sum},        {"ReduceMean", 1, convert_mean},
    {"ReduceMax", 1, convert_max},        {"ReduceMin", 1, convert_min},
    {"ReduceProd", 1, convert_prod},      {"ReduceL1", 1, convert_l1},
    {"ReduceL2", 1, convert_l2},          {"ReduceSumSquare", 1, convert_sum_square},
    {"ReduceLogSum", 1, convert_log_sum}, {"ReduceLogSumExp", 1, convert_log_sum_exp},
    {"ArgMax", 1, convert_argmax},        {"ArgMin", 1, convert_argmin},
};

}  // namespace

extern const std::span<const Converter> reduce_converters;
const std::span<const Converter> reduce_converters = kReduceTable;

}  // namespace tessera::import
