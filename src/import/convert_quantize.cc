// SPDX-License-Identifier: Apache-2.0
// Quantisation, composed of casts and arithmetic in wider types.
#include <cmath>

#include "import/converters.h"
#include "import/narrow.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

bool is_one(Value p) {
  const auto sizes = constant_shape(p.shape());
  return sizes && product(*sizes) == 1;
}

// Each element of p for `block` of x along the axis, whose last block may be shorter.
Value repeated(Value p, Value x, std::int64_t axis, std::int64_t block) {
  Node& n = x.node();
  const Dim blocks = n.dim(p, axis), size_of_x = n.dim(x, axis);
  const Dim wanted = ceil_div(size_of_x, Dim(block));
  if (blocks.is_constant() && wanted.is_constant() && blocks.constant() != wanted.constant()) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("it has {} blocks of {} elements in a dimension of {}", blocks.constant(),
                          block, size_of_x.constant()));
  }
  const Value all = p.apply("repeat", {{"repeats", block}, {"axis", axis}});
  if (size_of_x.is_constant() && n.dim(all, axis).is_constant()) {
    return all.slice(axis, 0, size_of_x.constant());
  }
  return {n,
          n.call("dyn.strided_slice", {all, n.ints({0}), sizes_of(x, axis, axis + 1), n.ints({1})},
                 {{"axes", Ints{axis}}, {"slice_mode", "size"}})};
}

// A scale or zero point for broadcasting to `x`: of the tensor, of one axis, or of blocks of it.
Value spread(Value p, Value x, std::int64_t axis, std::int64_t block) {
  if (is_one(p)) return p.reshape({});
  const std::int64_t after = x.rank() - 1 - axis;
  const bool is_of_axis = p.rank() == 1 && (block <= 0 || x.rank() > 1);
  if (is_of_axis && after == 0) return p;
  if (is_of_axis && axis >= 0 && after > 0) {
    return p.apply("expand_dims", {{"axis", 1}, {"num_newaxis", after}});
  }
  return block <= 0 ? p : repeated(p, x, axis, block);
}

struct Parameters {
  Value scale, zero;  // the zero point as float32
};

Parameters parameters(Node& n, Value x, std::size_t scale, std::size_t zero) {
  const std::int64_t block = n.int_attr("block_size", 0);
  if (block < 0) n.invalid(Code::kWrongAttribute, fmt::format("its block_size is {}", block));
  const bool one = is_one(input(n, scale));
  const std::int64_t axis = one ? n.int_attr("axis", 1) : n.axis_attr(1, x);
  const Value zeros = n.has_input(zero) ? wide_input(n, zero) : input_or(n, zero, 0, kFloat32);
  return {spread(input(n, scale).cast(kFloat32), x, axis, block),
          spread(zeros.cast(kFloat32), x, axis, block)};
}

// To a narrow type: of integers the value is cut off at their limits.
Value quantize_narrow(Node& n, Value scaled, Value zero, int type) {
  n.set_narrow_output(0, type);
  const bool saturates = n.flag_attr("saturate", true);
  if (is_narrow_float(type)) return narrowed(scaled + zero, type, saturates);
  const PackedType packed = packed_type(type);
  const double span = 1 << packed.bits, least = packed.dtype.is_signed_int() ? -span / 2 : 0;
  const Value whole = scaled.apply("round") + zero;
  return minimum(maximum(whole, least), least + span - 1).cast(packed.dtype);
}

// The format of floats of eight bits that have no zero point but 0; else null.
const Float8Format* float8_of(Node& n, int type, Value zero) {
  const Float8Format* format = float8_format(type);
  const auto known = n.constant(zero);
  if (format == nullptr || !known) return nullptr;
  for (std::int64_t i = 0; i < known->num_elements(); ++i) {
    if (element_as_double(*known, i) != 0) return nullptr;
  }
  return format;
}

// Codes of any other scale are no numbers.
void expect_positive_scales(Node& n, Value scale) {
  const auto known = n.constant(scale);
  for (std::int64_t i = 0; known && i < known->num_elements(); ++i) {
    const double value = element_as_double(*known, i);
    if (value > 0 && std::isfinite(value)) continue;
    n.invalid(Code::kBadOnnxTensor,
              fmt::format("its scale {} is {}; scales of floats of eight bits are positive and "
                          "finite",
                          i, value));
  }
}

std::vector<NodeId> convert_quantize(Node& n) {
  const Value x = input(n, 0);
  const int stated = n.narrow_type_attr("output_dtype");
  const Parameters p = parameters(n, x, 1, 2);
  const int type = n.has_input(2) ? n.narrow_type(2) : stated;
  if (const Float8Format* format = float8_of(n, type, p.zero)) {
    expect_positive_scales(n, p.scale);
    n.set_narrow_output(0, type);
    const bool saturates = n.flag_attr("saturate", true);
    return {
        x.cast(kFloat32).apply("qnn.quantize_float8", p.scale,
                               {{"format", std::string(format->name)}, {"saturate", saturates}})};
  }
  const Value scaled = x.cast(kFloat32) / p.scale;
  if (type != 0) return {quantize_narrow(n, scaled, p.zero, type)};
  const DType to = n.has_input(2) ? n.dtype(n.input(2)) : n.dtype_attr("output_dtype", kUInt8);
  n.ignore_attr("output_dtype");
  n.ignore_attr("saturate");
  return {quantize(scaled, p.zero, to)};
}

// Bytes with a scale for each block of them stay bytes until the run.
bool has_blocks_of_bytes(Node& n, Value x) {
  return n.int_attr("block_size", 0) > 0 && x.dtype().is_byte() &&
         !is_narrow_float(n.narrow_type(0)) && x.rank() > 0 && n.rank(n.input(1)) == x.rank();
}

std::vector<NodeId> convert_dequantize(Node& n) {
  const Value x = input(n, 0), scale = input(n, 1);
  expect_zero_points_of(n, 2, 0);
  const DType to = n.dtype_attr("output_dtype", scale.dtype());
  if (has_blocks_of_bytes(n, x)) {
    const Value zero = input_or(n, 2, 0, x.dtype());
    const Value y(
        n, n.call("qnn.dequantize_blocks", {x, scale, zero},
                  {{"axis", n.axis_attr(1, x)}, {"block_size", n.int_attr("block_size", 0)}}));
    return {y.cast(to)};
  }
  const Parameters p = parameters(n, x, 1, 2);
  if (const Float8Format* format = float8_of(n, n.narrow_type(0), p.zero)) {
    expect_positive_scales(n, p.scale);
    return {x.apply("qnn.dequantize_float8", p.scale, {{"format", std::string(format->name)}})
                .cast(to)};
  }
  return {((wide_input(n, 0).cast(kFloat32) - p.zero) * p.scale).cast(to)};
}

std::vector<NodeId> convert_dynamic_quantize(Node& n) {
  const Quantized q = quantize_by_range(input(n, 0));
  return {q.values, q.scale, q.zero};
}

constexpr Converter kQuantizeTable[] = {
    {"QuantizeLinear", 10, convert_quantize},
    {"DequantizeLinear", 10, convert_dequantize},
    {"com.microsoft.QuantizeLinear", 1, convert_quantize},
    {"com.microsoft.DequantizeLinear", 1, convert_dequantize},
    {"DynamicQuantizeLinear", 11, convert_dynamic_quantize},
};

}  // namespace

extern const std::span<const Converter> quantize_converters;
const std::span<const Converter> quantize_converters = kQuantizeTable;

}  // namespace tessera::import
