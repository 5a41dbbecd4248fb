// SPDX-License-Identifier: Apache-2.0
// Reductions, softmax and layer norm.
#include "backends/tensorrt/converters.h"
#include "ops/attrs/norm.h"
#include "ops/attrs/reduce.h"
#include "ops/inference/infer.h"

namespace tessera::backends::tensorrt {
namespace {

Value mean_along(Call& c, Value value, std::int64_t axis) {
  Ints shape = c.result_shape();
  shape[static_cast<std::size_t>(axis)] = 1;
  return c.layer("reduce", {value}, {{"type", {"AVG"}}, {"axes", text_of(axis)}, {"keeps", {"1"}}},
                 shape);
}

}  // namespace

ValueOr reduced(Call& c) {
  const auto p = c.attrs<ops::ReduceAttrs>();
  const std::vector<bool> goes = ops::accepted_axes(p.axis, p.exclude, c.shape(0).size());
  Ints axes;
  for (std::size_t d = 0; d < goes.size(); ++d) {
    if (goes[d]) axes.push_back(static_cast<std::int64_t>(d));
  }
  if (axes.empty()) return refuse("nothing is reduced");
  return c.layer("reduce", {c.operand(0)},
                 {{"type", {std::string(c.type())}},
                  {"axes", texts_of(axes)},
                  {"keeps", {p.keepdims ? "1" : "0"}}});
}

ValueOr softmax(Call& c) {
  const std::size_t rank = c.shape(0).size();
  if (rank == 0) return refuse("a scalar has no axis");
  const std::int64_t axis = from_front(c.attrs<ops::SoftmaxAttrs>().axis, rank);
  return c.layer("softmax", {c.operand(0)}, {{"axis", text_of(axis)}});
}

ValueOr layer_norm(Call& c) {
  const auto p = c.attrs<ops::LayerNormAttrs>();
  const Ints shape = c.result_shape();
  const std::size_t rank = shape.size();
  const std::int64_t axis = from_front(p.axis, rank);
  Ints row = shape;
  row[static_cast<std::size_t>(axis)] = 1;
  const Value centred =
      c.elementwise("SUB", c.operand(0), mean_along(c, c.operand(0), axis), shape);
  const Value squares = c.elementwise("PROD", centred, centred, shape);
  const Value mean_square = mean_along(c, squares, axis);
  const Value variance = c.elementwise("SUM", mean_square, c.number(p.epsilon, rank), row);
  Value value = c.elementwise("DIV", centred, c.unary("SQRT", variance, row), shape);
  if (p.scale) value = c.elementwise("PROD", value, c.along(1, axis, rank), shape);
  if (p.center) value = c.elementwise("SUM", value, c.along(2, axis, rank), shape);
  return value;
}

}  // namespace tessera::backends::tensorrt
