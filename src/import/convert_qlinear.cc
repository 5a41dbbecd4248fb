// SPDX-License-Identifier: Apache-2.0
// Operators of com.microsoft on quantised tensors, as onnxruntime's quantizer writes them: what the
// operator does to real numbers, between grids that each have one scale and one zero point. Numbers
// half way between two of a grid go where onnxruntime has them go, which differs between operators.
#include "import/activation.h"
#include "import/converters.h"
#include "import/quantization.h"
#include "import/window.h"

namespace tessera::import {
namespace {

// A quantised input without its zero point, which is the second input after it.
Value centred(Node& n, std::size_t i) {
  const Value q = input(n, i);
  if (q.dtype() != kUInt8 && q.dtype() != kInt8) {
    n.invalid(Code::kDtypeMismatch, fmt::format("its input {} is of {}, and not of 8-bit integers",
                                                i, to_string(q.dtype())));
  }
  return q.cast(kFloat32) - number_of(n, i + 2);
}

Value dequantized(Node& n, std::size_t i) { return centred(n, i) * number_of(n, i + 1); }

// The result's grid: scale and zero point are inputs `at` and at + 1. It has the type of input i.
struct Grid {
  Value scale, zero;
  DType type;

  // round(x / scale) + zero
  Value nearest(Value x) const { return quantize(x / scale, zero, type); }
  // round(x + zero): of what is counted in steps of the grid.
  Value nearest_to_steps(Value x) const { return saturate((x + zero).apply("round"), type); }
};

Grid grid(Node& n, std::size_t at, std::size_t i) {
  const DType type = n.dtype(n.input(i));
  if (n.has_input(at + 1) && n.dtype(n.input(at + 1)) != type) {
    n.invalid(Code::kDtypeMismatch, "zero points of its operand and result differ in type");
  }
  return {number_of(n, at), number_of(n, at + 1), type};
}

std::vector<NodeId> convert_qlinear_add(Node& n) {
  const Grid c = grid(n, 6, 0);
  const auto steps = [&](std::size_t i) { return centred(n, i) * (number_of(n, i + 1) / c.scale); };
  return {c.nearest_to_steps(steps(0) + steps(3))};
}

std::vector<NodeId> convert_qlinear_mul(Node& n) {
  const Grid c = grid(n, 6, 0);
  const Value factor = number_of(n, 1) * number_of(n, 4) / c.scale;
  return {c.nearest_to_steps(centred(n, 0) * centred(n, 3) * factor)};
}

std::vector<NodeId> convert_qlinear_sigmoid(Node& n) {
  return {grid(n, 3, 0).nearest(dequantized(n, 0).apply("sigmoid"))};
}

std::vector<NodeId> convert_qlinear_leaky_relu(Node& n) {
  return {grid(n, 3, 0).nearest(
      activate(dequantized(n, 0), {"LeakyRelu", n.float_attr("alpha", 0.01)}))};
}

std::vector<NodeId> convert_qlinear_where(Node& n) {
  return {grid(n, 7, 1).nearest(where(input(n, 0), dequantized(n, 1), dequantized(n, 4)))};
}

// After the result's scale and zero point there are three inputs for each part.
std::vector<NodeId> convert_qlinear_concat(Node& n) {
  if (n.num_inputs() < 5 || (n.num_inputs() - 2) % 3 != 0) {
    n.invalid(Code::kWrongArity, "its inputs are not three for each part");
  }
  const std::int64_t axis = n.need_int_attr("axis");
  std::vector<Value> parts;
  for (std::size_t i = 2; i < n.num_inputs(); i += 3) parts.push_back(dequantized(n, i));
  const Value all = concat(n, parts, n.axis(axis, parts[0].rank()));
  return {grid(n, 0, 2).nearest(all)};
}

// Dimension 1 has the channels; with channels_last the last one has them.
Value channels_second(Value x) {
  Ints axes = range(1, x.rank() - 1);
  axes.insert(axes.begin(), {0, x.rank() - 1});
  return x.transpose(axes);
}

Value channels_last(Value x) {
  Ints axes = range(2, x.rank());
  axes.insert(axes.begin(), 0);
  axes.push_back(1);
  return x.transpose(axes);
}

std::vector<NodeId> convert_qlinear_average_pool(Node& n) {
  const bool last = n.flag_attr("channels_last", false);
  // onnxruntime divides by the whole window there, which AveragePool does not.
  if (n.flag_attr("ceil_mode", false) && n.flag_attr("count_include_pad", false)) {
    n.unsupported("ceil_mode with padding that counts");
  }
  spatial_rank(n, n.input(0));
  const Value x = dequantized(n, 0);
  const Value y = average_pool(last ? channels_second(x) : x);
  const Grid to = grid(n, 3, 0);
  return {to.nearest_to_steps((last ? channels_last(y) : y) / to.scale)};
}

// The sum of integers is exact; the mean's factor is one number.
std::vector<NodeId> convert_qlinear_global_average_pool(Node& n) {
  const Value x = centred(n, 0).cast(kInt32);
  if (x.rank() < 3)
    n.invalid(Code::kShapeMismatch, "its input has no dimensions after its channels");
  const std::int64_t first = n.flag_attr("channels_last", false) ? 1 : 2;
  const std::int64_t end = first + x.rank() - 2;
  const Value count = sizes_of(x, first, end).apply("prod", {{"axis", Ints{0}}}).cast(kFloat32);
  const Grid to = grid(n, 3, 0);
  const Value factor = number_of(n, 1) / (to.scale * count);
  return {quantize(x.sum(range(first, end)).cast(kFloat32) * factor, to.zero, to.type)};
}

// Until opset 12, of which the attribute tells, everything from the axis on is one dimension.
std::vector<NodeId> convert_qlinear_softmax(Node& n) {
  const Value whole = dequantized(n, 0);
  const std::int64_t axis = n.axis_attr(-1, whole);
  const bool merges = n.need_int_attr("opset") < 13;
  const Value x = merges ? whole.merge(axis, whole.rank()) : whole;
  return {grid(n, 3, 0).nearest(x.apply("nn.softmax", {{"axis", axis}}).unmerge(whole))};
}

constexpr Converter kQlinearTable[] = {
    {"com.microsoft.QLinearAdd", 1, convert_qlinear_add},
    {"com.microsoft.QLinearMul", 1, convert_qlinear_mul},
    {"com.microsoft.QLinearSigmoid", 1, convert_qlinear_sigmoid},
    {"com.microsoft.QLinearLeakyRelu", 1, convert_qlinear_leaky_relu},
    {"com.microsoft.QLinearWhere", 1, convert_qlinear_where},
    {"com.microsoft.QLinearConcat", 1, convert_qlinear_concat},
    {"com.microsoft.QLinearAveragePool", 1, convert_qlinear_average_pool},
    {"com.microsoft.QLinearGlobalAveragePool", 1, convert_qlinear_global_average_pool},
    {"com.microsoft.QLinearSoftmax", 1, convert_qlinear_softmax},
};

}  // namespace

extern const std::span<const Converter> qlinear_converters;
const std::span<const Converter> qlinear_converters = kQlinearTable;

}  // namespace tessera::import
