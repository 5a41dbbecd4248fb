// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and normalisations.
#include <algorithm>
#include <cmath>

#include "backends/openvino/converters.h"
#include "ops/attrs/norm.h"
#include "ops/attrs/reduce.h"

namespace tessera::backends::openvino {
namespace {

Expected<Ints, Refusal> axes_of(const Call& c) {
  const auto p = c.attrs<ops::ReduceAttrs>();
  const std::size_t rank = c.shape(0).size();
  std::vector<bool> named(rank, !p.axis);
  for (const std::int64_t axis : p.axis.value_or(Ints())) {
    named[static_cast<std::size_t>(from_front(axis, rank))] = true;
  }
  Ints axes;
  for (std::size_t d = 0; d < rank; ++d) {
    if (named[d] != (p.exclude && p.axis)) axes.push_back(static_cast<std::int64_t>(d));
  }
  if (axes.empty()) return refuse("nothing is reduced");
  return axes;
}

ValuesOr reduced(Call& c, std::string_view operation) {
  TESSERA_TRY(const Ints axes, axes_of(c));
  return Values{c.layer(operation, 1, {c.operand(0), c.ints(axes)},
                        {{"keep_dims", text_of(c.attrs<ops::ReduceAttrs>().keepdims)}})};
}

// OpenVINO's is the greatest or least of what is no NaN.
ValuesOr extreme_of(Call& c, std::string_view operation) {
  TESSERA_TRY(const Ints axes, axes_of(c));
  const std::vector<Attribute> keep = {
      {"keep_dims", text_of(c.attrs<ops::ReduceAttrs>().keepdims)}};
  const Value is_nan = c.layer("NotEqual", 1, {c.operand(0), c.operand(0)});
  const Value found = c.layer(operation, 1, {c.operand(0), c.ints(axes)}, keep);
  const Value has_nan = c.layer("ReduceLogicalOr", 1, {is_nan, c.ints(axes)}, keep);
  return Values{c.layer("Select", 1, {has_nan, c.number(NAN), found})};
}

// (x - mean) / sqrt(variance + epsilon) over the axes.
Value normalized(Call& c, const Ints& axes, double epsilon) {
  return c.layer(
      "MVN", 6, {c.operand(0), c.ints(axes)},
      {{"normalize_variance", "true"}, {"eps", text_of(epsilon)}, {"eps_mode", "inside_sqrt"}});
}

// With a factor (operand 1) and a summand (operand 2) along an axis, where there are such.
ValuesOr scaled(Call& c, Value value, std::int64_t axis, bool scale, bool center) {
  const std::size_t rank = c.shape(0).size();
  const auto at = static_cast<std::size_t>(axis);
  if (scale) value = c.layer("Multiply", 1, {value, c.along(1, at, rank)});
  if (center) value = c.layer("Add", 1, {value, c.along(2, at, rank)});
  return Values{value};
}

}  // namespace

ValuesOr mean(Call& c) { return reduced(c, "ReduceMean"); }
ValuesOr sum(Call& c) { return reduced(c, "ReduceSum"); }
ValuesOr greatest(Call& c) { return extreme_of(c, "ReduceMax"); }
ValuesOr least(Call& c) { return extreme_of(c, "ReduceMin"); }

ValuesOr softmax(Call& c) {
  const std::int64_t axis = from_front(c.attrs<ops::SoftmaxAttrs>().axis, c.shape(0).size());
  return Values{c.layer("SoftMax", 8, {c.operand(0)}, {{"axis", std::to_string(axis)}})};
}

ValuesOr log_softmax(Call& c) {
  const std::int64_t axis = from_front(c.attrs<ops::SoftmaxAttrs>().axis, c.shape(0).size());
  return Values{c.layer("LogSoftmax", 5, {c.operand(0)}, {{"axis", std::to_string(axis)}})};
}

ValuesOr layer_norm(Call& c) {
  const auto p = c.attrs<ops::LayerNormAttrs>();
  const std::int64_t axis = from_front(p.axis, c.shape(0).size());
  return scaled(c, normalized(c, {axis}, p.epsilon), axis, p.scale, p.center);
}

ValuesOr rms_norm(Call& c) {
  const auto p = c.attrs<ops::RmsNormAttrs>();
  const std::int64_t axis = from_front(p.axis, c.shape(0).size());
  const Value squares = c.layer("Multiply", 1, {c.operand(0), c.operand(0)});
  const Value mean = c.layer("ReduceMean", 1, {squares, c.ints({axis})}, {{"keep_dims", "true"}});
  const Value root = c.layer("Sqrt", 1, {c.layer("Add", 1, {mean, c.number(p.epsilon)})});
  return scaled(c, c.layer("Divide", 1, {c.operand(0), root}), axis, p.scale, false);
}

ValuesOr instance_norm(Call& c) {
  const auto p = c.attrs<ops::InstanceNormAttrs>();
  const std::size_t rank = c.shape(0).size();
  const std::int64_t axis = from_front(p.axis, rank);
  Ints axes;
  for (std::int64_t d = 1; d < static_cast<std::int64_t>(rank); ++d) {
    if (d != axis) axes.push_back(d);
  }
  if (axes.empty()) return refuse("nothing is reduced");
  return scaled(c, normalized(c, axes, p.epsilon), axis, p.scale, p.center);
}

}  // namespace tessera::backends::openvino
