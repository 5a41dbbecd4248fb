// SPDX-License-Identifier: Apache-2.0
// Gathering, slicing and selecting: Gather, GatherND, Slice, OneHot, TopK, CumSum, Trilu, Compress,
// ...
#include <algorithm>
#include <limits>

#include "import/converters.h"
#include "import/indices.h"
#include "import/value.h"
#include "ops/attrs/shape.h"

namespace tessera::import {
namespace {

std::vector<NodeId> convert_gather(Node& n) {
  const Value x = input(n, 0);
  return {take_checked(x, n.input(1), n.axis_attr(0, x))};
}

std::vector<NodeId> convert_gather_elements(Node& n) {
  const NodeId x = n.input(0);
  const std::int64_t axis = n.axis_attr(0, x);
  return {n.call("gather", {x, checked_indices(n, n.input(1), x, {axis})}, {{"axis", axis}})};
}

// ONNX has the index tuples in the last dimension, the operator in the first.
std::vector<NodeId> convert_gather_nd(Node& n) {
  const NodeId indices = n.input(1);
  const std::int64_t rank = n.rank(indices);
  Ints axes = range(0, rank - 1);
  axes.insert(axes.begin(), rank - 1);
  const std::int64_t batch = n.int_attr("batch_dims", 0);
  return {n.call("gather_nd",
                 {n.input(0), checked_tuples(n, n.transpose(indices, axes), n.input(0), batch)},
                 {{"batch_dims", batch}})};
}

// Where a step leads backwards and the start lies before the first element, ONNX starts at the
// first element; the operators, as numpy does, give nothing.
Value first_or_later(Node& n, const Value& begin, const Ints& axes) {
  return maximum(begin, sizes_of(input(n, 0)).take(n.ints(axes), 0) * -1.0);
}

std::vector<NodeId> slice(Node& n, Ints begin, const Ints& end, Ints axes, Ints strides) {
  const NodeId x = n.input(0);
  if (axes.empty()) axes = range(0, static_cast<std::int64_t>(begin.size()));
  if (strides.empty()) strides.assign(begin.size(), 1);
  if (end.size() != begin.size() || axes.size() != begin.size() || strides.size() != begin.size()) {
    n.invalid(Code::kWrongAttribute, "its starts, ends, axes and steps differ in number");
  }
  bool is_open = false;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    axes[k] = n.axis(axes[k], n.rank(x));
    if (strides[k] > 0 || begin[k] >= -1) continue;
    const Dim& size = n.dim(x, axes[k]);
    if (size.is_constant()) begin[k] = std::max(begin[k], -size.constant());
    is_open |= !size.is_constant();
  }
  if (is_open) {
    return {
        n.call("dyn.strided_slice",
               {x, first_or_later(n, Value(n, n.ints(begin)), axes), n.ints(end), n.ints(strides)},
               {{"axes", axes}})};
  }
  return {n.call("strided_slice", {x},
                 {{"begin", begin}, {"end", end}, {"strides", strides}, {"axes", axes}})};
}

std::vector<NodeId> convert_slice_attrs(Node& n) {
  return slice(n, n.need_ints_attr("starts"), n.need_ints_attr("ends"), n.ints_attr("axes"), {});
}

// Bounds that are sizes known by name, such as `x[:, :seq]`. Where the ranges of symbols tell that
// the end lies inside, the result has exactly end - start elements.
std::vector<NodeId> slice_by_sizes(Node& n, const Shape& begin, const Shape& end, Ints axes,
                                   const Ints& strides) {
  const NodeId x = n.input(0);
  if (axes.empty()) axes = range(0, static_cast<std::int64_t>(begin.size()));
  if (end.size() != begin.size() || axes.size() != begin.size() || strides.size() != begin.size()) {
    n.invalid(Code::kWrongAttribute, "its starts, ends, axes and steps differ in number");
  }
  Shape sizes;
  bool inside = true, backwards = false;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    backwards |= strides[k] < 0;
    axes[k] = n.axis(axes[k], n.rank(x));
    const Dim& size = n.dim(x, axes[k]);
    const Dim stop = end[k].is_constant() && end[k].constant() >= ops::kFarAway ? size : end[k];
    inside = inside && strides[k] == 1 && n.is_within(Dim(0), begin[k]) &&
             n.is_within(begin[k], stop) && n.is_within(stop, size);
    sizes.push_back(stop - begin[k]);
  }
  const Value from(n, n.sizes_of(begin));
  return {n.call("dyn.strided_slice",
                 {x, backwards ? first_or_later(n, from, axes) : from,
                  n.sizes_of(inside ? sizes : end), n.ints(strides)},
                 {{"axes", axes}, {"slice_mode", inside ? "size" : "end"}})};
}

bool is_known(Node& n, std::size_t i) {
  return !n.has_input(i) || n.constant(n.input(i)).has_value();
}

// Bounds that come at run time, for a result whose size the model does not state.
std::vector<NodeId> slice_by_data(Node& n) {
  const Value begin = input(n, 1).cast(kInt64);
  const std::int64_t count = begin.size(0);
  if (count > n.rank(n.input(0))) n.invalid(Code::kShapeMismatch, "it has more starts than axes");
  Ints axes = range(0, count);
  if (n.has_input(3)) axes = n.need_ints(3, "a list of axes");
  for (std::int64_t& a : axes) a = n.axis(a, n.rank(n.input(0)));
  const Value steps = n.has_input(4) ? input(n, 4).cast(kInt64)
                                     : Value(n, n.ints(Ints(static_cast<std::size_t>(count), 1)));
  const bool forwards =
      is_known(n, 4) &&
      std::ranges::all_of(n.has_input(4) ? n.need_ints(4, "a list of steps") : Ints{},
                          [](std::int64_t step) { return step > 0; });
  const Value inside = forwards ? begin : first_or_later(n, begin, axes);
  return {n.call("dyn.strided_slice", {n.input(0), inside, input(n, 2).cast(kInt64), steps},
                 {{"axes", axes}})};
}

// Starts, steps and axes that come at run time: each dimension reads start + i * step, as many
// elements as the model states. A dimension that no axis names has start 0 and step 1.
std::vector<NodeId> slice_at_run_time(Node& n) {
  Value y = input(n, 0);
  const auto result = n.declared_shape(0, y.rank());
  if (!result || !constant_shape(y.shape())) return slice_by_data(n);
  const Ints sizes = y.sizes();
  n.ignore_input(2);
  const Value starts = input(n, 1).cast(kInt64);
  const std::int64_t count = starts.size(0), rank = y.rank();
  const Value axes = n.has_input(3) ? floor_mod(input(n, 3).cast(kInt64), static_cast<double>(rank))
                                    : iota(n, count);
  const Value steps = n.has_input(4) ? input(n, 4).cast(kInt64) : iota(n, count) * 0.0 + 1.0;
  for (std::int64_t d = 0; d < rank; ++d) {
    const auto size = static_cast<double>(sizes[static_cast<std::size_t>(d)]);
    const Value named = equal(axes, static_cast<double>(d)).cast(kInt64);
    const Value step = (named * (steps - 1.0)).sum({0}, false) + 1.0;
    const Value given = (named * starts).sum({0}, false);
    const Value from_front = where(given < 0.0, given + size, given);
    const Value backward = minimum(maximum(from_front, 0.0), size - 1);
    const Value start = where(step < 0.0, backward, minimum(maximum(from_front, 0.0), size));
    y = y.take(start + iota(n, (*result)[static_cast<std::size_t>(d)]) * step, d);
  }
  return {y};
}

std::vector<NodeId> convert_slice(Node& n) {
  if (!is_known(n, 1) || !is_known(n, 2) || !is_known(n, 3) || !is_known(n, 4)) {
    const auto begin = n.known_sizes(1), end = n.known_sizes(2);
    if (begin && end && is_known(n, 3) && is_known(n, 4)) {
      return slice_by_sizes(
          n, *begin, *end, n.has_input(3) ? n.need_ints(3, "a list of axes") : Ints{},
          n.has_input(4) ? n.need_ints(4, "a list of steps") : Ints(begin->size(), 1));
    }
    return slice_at_run_time(n);
  }
  return slice(n, n.need_ints(1, "a list of starts"), n.need_ints(2, "a list of ends"),
               n.has_input(3) ? n.need_ints(3, "a list of axes") : Ints{},
               n.has_input(4) ? n.need_ints(4, "a list of steps") : Ints{});
}

// An axis that comes at run time is one of few: all are computed, and one is taken.
// `forward` of all elements up to each along an axis, or without the element itself.
template <class Forward>
std::vector<NodeId> running(Node& n, Forward forward) {
  const Value x = input(n, 0);
  const bool exclusive = n.flag_attr("exclusive", false), reverse = n.flag_attr("reverse", false);
  const auto scan = [&](std::int64_t axis) {
    const Value first = reverse ? x.apply("reverse", {{"axis", axis}}) : x;
    const Value result = forward(first, axis, exclusive);
    return reverse ? result.apply("reverse", {{"axis", axis}}) : result;
  };
  if (const auto known = n.known_int(1)) return {scan(n.axis(*known, x.rank()))};
  const Value axis = floor_mod(input(n, 1).cast(kInt64).reshape({}), static_cast<double>(x.rank()));
  Value result = scan(0);
  for (std::int64_t d = 1; d < x.rank(); ++d) {
    result = where(equal(axis, static_cast<double>(d)), scan(d), result);
  }
  return {result};
}

std::vector<NodeId> convert_cumsum(Node& n) {
  return running(n, [](Value x, std::int64_t axis, bool exclusive) {
    return x.apply("cumsum", {{"axis", axis}, {"exclusive", exclusive}});
  });
}

// Products of 2, 4, 8, ... elements before each, ones before the first.
std::vector<NodeId> convert_cumprod(Node& n) {
  return running(n, [](Value x, std::int64_t axis, bool exclusive) {
    const std::int64_t size = x.size(axis);
    const auto shifted = [&](Value y, std::int64_t count) -> Value {
      relay::AttrArray width(static_cast<std::size_t>(y.rank()), relay::AttrArray{0, 0});
      width[static_cast<std::size_t>(axis)] = relay::AttrArray{count, 0};
      const Value padded(x.node(),
                         x.node().call("nn.pad", {y, y.number(1)}, {{"pad_width", width}}));
      return padded.slice(axis, 0, size);
    };
    Value y = exclusive ? shifted(x, 1) : x;
    for (std::int64_t step = 1; step < size; step = step <= size / 2 ? 2 * step : size) {
      y = y * shifted(y, step);
    }
    return y;
  });
}

std::vector<NodeId> convert_trilu(Node& n) {
  const NodeId k = input_or(n, 1, 0, kInt64).reshape({});
  return {n.call("trilu", {n.input(0), k}, {{"upper", n.flag_attr("upper", true)}})};
}

// Without a one-hot operator's limits: any type of index, values and depth; indices count from the
// end if negative, and one outside of [-depth, depth) is nowhere hot.
std::vector<NodeId> convert_one_hot(Node& n) {
  const Value indices = input(n, 0).cast(kInt64), values = list_input(n, 2);
  const std::int64_t rank = indices.rank() + 1;
  const std::int64_t axis = n.axis(n.int_attr("axis", -1), rank);
  const auto known = n.known_number(1);
  const auto declared = n.declared_shape(0, rank);
  if (!known && !declared) n.need_constant(1, "a depth");
  const std::int64_t depth =
      known ? element_as_int(*known, 0) : declared->at(static_cast<std::size_t>(axis));
  if (depth < 0) {
    n.invalid(Code::kWrongAttribute, fmt::format("its depth is {}, less than 0", depth));
  }
  Ints shape = indices.sizes();
  shape.insert(shape.begin() + axis, 1);
  const Value wrapped = where(indices < 0.0, indices + static_cast<double>(depth), indices);
  const Value hot = equal(wrapped.reshape(shape), along(iota(n, depth), axis, rank));
  return {where(hot, values.at(0, 1), values.at(0, 0))};
}

// The first k, a number that comes at run time, of all in order.
std::vector<NodeId> top_k_by_data(Node& n, std::int64_t axis) {
  n.ignore_attr("sorted");
  const NodeId both = n.call(
      "topk", {n.input(0)},
      {{"k", 0}, {"axis", axis}, {"is_ascend", !n.flag_attr("largest", true)}, {"dtype", kInt64}});
  const NodeId k = input(n, 1).cast(kInt64).reshape({1});
  std::vector<NodeId> results;
  for (int i = 0; i < 2; ++i) {
    results.push_back(n.call("dyn.strided_slice", {n.project(both, i), n.ints({0}), k, n.ints({1})},
                             {{"axes", Ints{axis}}, {"slice_mode", "size"}}));
  }
  return results;
}

std::vector<NodeId> convert_top_k(Node& n) {
  const NodeId x = n.input(0);
  const std::int64_t axis = n.axis_attr(-1, x);
  std::int64_t k = 0;
  if (n.opset() < 10) {
    k = n.need_int_attr("k");
  } else if (const auto known = n.known_int(1)) {
    k = *known;
  } else {
    const auto declared = n.declared_shape(0, n.rank(x));
    const auto own = n.dim(x, axis).as_constant();
    const std::int64_t stated = declared ? declared->at(static_cast<std::size_t>(axis)) : -1;
    if (!declared || (own && stated > *own)) return top_k_by_data(n, axis);
    k = stated;
  }
  const Dim size = n.dim(x, axis);
  if (k < 0 || (size.is_constant() && k > size.constant())) {
    n.invalid(Code::kWrongAttribute,
              fmt::format("its k is {}, and axis {} has {} elements", k, axis, to_string(size)));
  }
  n.ignore_attr("sorted");  // sorted is one of the orders that unsorted allows
  const NodeId both = n.call("topk", {x},
                             {{"k", std::max<std::int64_t>(k, 1)},  // 0 would be all
                              {"axis", axis},
                              {"is_ascend", !n.flag_attr("largest", true)},
                              {"dtype", kInt64}});
  const Value values(n, n.project(both, 0)), places(n, n.project(both, 1));
  if (k == 0) return {values.slice(axis, 0, 0), places.slice(axis, 0, 0)};
  return {values, places};
}

// The places where the condition holds, as many as are known.
std::vector<NodeId> convert_compress(Node& n) {
  Value x = input(n, 0);
  if (!n.has_attr("axis")) x = x.reshape_to({num_elements(x.shape())});
  const std::int64_t axis = n.has_attr("axis") ? n.axis_attr(0, x) : 0;
  if (const auto condition = n.known_ints(1)) {
    Ints chosen;
    for (std::size_t i = 0; i < condition->size(); ++i) {
      if ((*condition)[i] != 0) chosen.push_back(static_cast<std::int64_t>(i));
    }
    return {x.take(n.ints(chosen), axis)};
  }
  const auto declared = n.declared_shape(0, x.rank());
  if (!declared) {
    const Value places = input(n, 1).apply("argwhere").squeeze(1);
    return {x.take(checked_indices(n, places.cast(kInt64), x, {axis}), axis)};
  }
  const Value condition = input(n, 1).cast(kInt64);
  // Element i of the result is at the first place with i + 1 true ones up to it.
  const Value counts = condition.apply("cumsum", {{"axis", 0}}).reshape({1, condition.size(0)});
  const std::int64_t count = declared->at(static_cast<std::size_t>(axis));
  const Value before = (counts <= iota(n, count).reshape({count, 1})).cast(kInt64);
  return {x.take(checked_indices(n, before.sum({1}, false), x, {axis}), axis)};
}

std::vector<NodeId> convert_reverse_sequence(Node& n) {
  return {n.call(
      "reverse_sequence", {n.input(0), n.input(1)},
      {{"seq_axis", n.int_attr("time_axis", 0)}, {"batch_axis", n.int_attr("batch_axis", 1)}})};
}

std::vector<NodeId> convert_non_max_suppression(Node& n) {
  const Value most = input_or(n, 2, 0, kInt64).reshape({});
  const Value iou = input_or(n, 3, 0, kFloat32).reshape({});
  const Value score = input_or(n, 4, std::numeric_limits<float>::lowest(), kFloat32).reshape({});
  const NodeId both =
      n.call("vision.all_class_non_max_suppression", {n.input(0), n.input(1), most, iou, score},
             {{"center_point_box", n.int_attr("center_point_box", 0)}});
  return {n.call("dyn.strided_slice",
                 {n.project(both, 0), n.ints({0}), n.project(both, 1), n.ints({1})},
                 {{"axes", Ints{0}}, {"slice_mode", "size"}})};
}

// The places, one a column.
std::vector<NodeId> convert_non_zero(Node& n) {
  return {input(n, 0).apply("argwhere").cast(kInt64).transpose({1, 0})};
}

constexpr Converter kIndexTable[] = {
    {"Gather", 1, convert_gather},
    {"GatherElements", 11, convert_gather_elements},
    {"GatherND", 11, convert_gather_nd},
    {"Slice", 1, convert_slice_attrs},
    {"Slice", 10, convert_slice},
    {"CumSum", 11, convert_cumsum},
    {"CumProd", 26, convert_cumprod},
    {"Trilu", 14, convert_trilu},
    {"com.microsoft.Trilu", 1, convert_trilu},
    {"OneHot", 9, convert_one_hot},
    {"TopK", 1, convert_top_k},
    {"Compress", 9, convert_compress},
    {"NonZero", 9, convert_non_zero},
    {"NonMaxSuppression", 10, convert_non_max_suppression},
    {"ReverseSequence", 10, convert_reverse_sequence},
};

}  // namespace

extern const std::span<const Converter> index_converters;
const std::span<const Converter> index_converters = kIndexTable;

}  // namespace tessera::import
