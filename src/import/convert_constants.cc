// SPDX-License-Identifier: Apache-2.0
// Constant, ConstantOfShape, Range, EyeLike, Identity.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

std::vector<NodeId> convert_constant(Node& n) {
  if (const auto tensor = n.tensor_attr("value")) return {n.constant(*tensor)};
  if (n.has_attr("value_float")) return {n.scalar(n.float_attr("value_float", 0), kFloat32)};
  if (n.has_attr("value_int")) {
    const std::int64_t value = n.int_attr("value_int", 0);
    return {n.constant(Tensor::scalar(value, kInt64))};
  }
  if (n.has_attr("value_ints")) return {n.ints(n.ints_attr("value_ints"))};
  if (n.has_attr("value_floats")) {
    const auto values = n.floats_attr("value_floats");
    return {n.constant(
        tensor_from_doubles({static_cast<std::int64_t>(values.size())}, kFloat32, values))};
  }
  n.unsupported("a sparse or string constant");
}

std::vector<NodeId> convert_constant_of_shape(Node& n) {
  const auto value = n.tensor_attr("value");
  if (value && value->num_elements() != 1) {
    n.invalid(Code::kWrongAttribute, "its value must have one element");
  }
  const Tensor fill = value ? Tensor({}, value->dtype, value->blob) : Tensor::scalar(0.f, kFloat32);
  const NodeId scalar = n.constant(fill);
  const auto sizes = n.known_sizes(0);
  const auto known = sizes ? constant_shape(*sizes) : n.declared_shape(0);
  if (!known) return {n.call("dyn.full", {scalar, n.input(0)}, {{"dtype", fill.dtype}})};
  return {n.call("full", {scalar}, {{"shape", *known}, {"dtype", fill.dtype}})};
}

// Bounds that come at run time do where the model states how many elements there are.
std::vector<NodeId> convert_range(Node& n) {
  // Numbers, which some functions of ONNX itself give as lists of one.
  const auto number = [&](std::size_t i) -> NodeId {
    const NodeId given = n.input(i);
    const bool is_list = n.rank(given) == 1 && n.dim(given, 0) == Dim(1);
    return is_list ? n.reshape(given, {}) : given;
  };
  const NodeId start = number(0), stop = number(1), step = number(2);
  if (n.constant(start) && n.constant(stop) && n.constant(step))
    return {n.call("arange", {start, stop, step})};
  const auto shape = n.declared_shape(0);
  if (!shape || shape->size() != 1) return {n.call("arange", {start, stop, step})};
  const Value first(n, start);
  return {first + iota(n, shape->front(), first.dtype()) * Value(n, step)};
}

std::vector<NodeId> convert_eye_like(Node& n) {
  const Ints sizes = n.sizes(n.input(0));
  if (sizes.size() != 2) n.invalid(Code::kShapeMismatch, "its input must have two dimensions");
  const DType dtype = n.dtype_attr("dtype", n.dtype(n.input(0)));
  return {n.call(
      "eye", {},
      {{"rows", sizes[0]}, {"columns", sizes[1]}, {"k", n.int_attr("k", 0)}, {"dtype", dtype}})};
}

std::vector<NodeId> convert_identity(Node& n) {
  if (!n.is_sequence(0)) return {n.input(0)};
  n.set_sequence_output(0, n.sequence(0));
  return {NodeId()};
}

constexpr Converter kConstantsTable[] = {
    {"Constant", 1, convert_constant}, {"ConstantOfShape", 9, convert_constant_of_shape},
    {"Range", 11, convert_range},      {"EyeLike", 9, convert_eye_like},
    {"Identity", 1, convert_identity},
};

}  // namespace

extern const std::span<const Converter> constants_converters;
const std::span<const Converter> constants_converters = kConstantsTable;

}  // namespace tessera::import
