// SPDX-License-Identifier: Apache-2.0
// Quantisation, composed of casts and arithmetic in wider types.
#include "import/converters.h"
#include "import/window.h"

namespace tessera::import {
namespace {

struct Limits {
  double least = 0, most = 0;
};

Limits limits(Node& n, DType dtype) {
  if (dtype.bits > 16 || !dtype.is_int()) {
    n.unsupported(fmt::format("quantisation to {}", to_string(dtype)));
  }
  const auto span = static_cast<double>(1 << dtype.bits);
  return dtype.is_signed_int() ? Limits{-span / 2, span / 2 - 1} : Limits{0, span - 1};
}

// A scale or zero point for broadcasting to `x`: of the tensor, of one axis, or of blocks of it.
Value spread(Value p, Value x, std::int64_t axis, std::int64_t block) {
  if (product(p.sizes()) == 1) return p.reshape({});
  if (p.rank() == 1) return along(p, axis, x.rank());
  if (block <= 0) return p;
  return Value(p.node(), p.node().call("repeat", {p}, {{"repeats", block}, {"axis", axis}}))
      .slice(axis, 0, x.size(axis));
}

struct Parameters {
  Value scale, zero;  // the zero point as float32
};

Parameters parameters(Node& n, Value x, std::size_t scale, std::size_t zero) {
  const std::int64_t block = n.int_attr("block_size", 0);
  const bool one = product(n.sizes(n.input(scale))) == 1;
  const std::int64_t axis = one ? n.int_attr("axis", 1) : n.axis_attr(1, x);
  return {spread(input(n, scale).cast(kFloat32), x, axis, block),
          spread(input_or(n, zero, 0, kFloat32).cast(kFloat32), x, axis, block)};
}

// round(x / scale) + zero, saturated.
Value quantize(Value scaled, Value zero, DType to) {
  const Limits l = limits(scaled.node(), to);
  return minimum(maximum(scaled.apply("round") + zero, l.least), l.most).cast(to);
}

std::vector<NodeId> convert_quantize(Node& n) {
  const Value x = input(n, 0);
  const DType stated = n.dtype_attr("output_dtype", kUInt8);
  const DType to = n.has_input(2) ? n.dtype(n.input(2)) : stated;
  n.ignore_attr("saturate");  // of float8
  const Parameters p = parameters(n, x, 1, 2);
  return {quantize(x.cast(kFloat32) / p.scale, p.zero, to)};
}

std::vector<NodeId> convert_dequantize(Node& n) {
  const Value x = input(n, 0);
  const DType to = n.dtype(n.input(1));
  const Parameters p = parameters(n, x, 1, 2);
  return {((x.cast(kFloat32) - p.zero) * p.scale).cast(to)};
}

std::vector<NodeId> convert_dynamic_quantize(Node& n) {
  const Value x = input(n, 0);
  const Ints all = range(0, x.rank());
  const Value least = minimum(x.apply("min", {{"axis", all}}), 0.0);
  const Value most = maximum(x.apply("max", {{"axis", all}}), 0.0);
  const Value step = (most - least) / 255.0;
  const Value scale = where(equal(step, 0.0), step.number(1), step);  // of zeros alone
  const Value zero = quantize(0.0 - least / scale, scale.number(0), kUInt8);
  return {quantize(x / scale, zero.cast(kFloat32), kUInt8), scale, zero};
}

// A quantised operand without its zero point, as int32. Zero points of rows or columns have the
// dimensions that broadcast.
Value shifted(Node& n, std::size_t i, std::size_t zero, bool of_rows) {
  const Value x = input(n, i).cast(kInt32);
  if (!n.has_input(zero)) return x;
  Value z = input(n, zero).cast(kInt32);
  if (product(z.sizes()) == 1) return x - z.reshape({});
  if (z.rank() == 1) z = along(z, of_rows ? x.rank() - 2 : x.rank() - 1, x.rank());
  return x - z;
}

std::vector<NodeId> convert_matmul_integer(Node& n) {
  return {shifted(n, 0, 2, true).matmul(shifted(n, 1, 3, false))};
}

std::vector<NodeId> convert_qlinear_matmul(Node& n) {
  const Value y = shifted(n, 0, 2, true).matmul(shifted(n, 3, 5, false));
  const auto scale = [&](std::size_t i, bool of_rows) {
    const Value s = input(n, i).cast(kFloat32);
    if (product(s.sizes()) == 1) return s.reshape({});
    return s.rank() == 1 ? along(s, of_rows ? y.rank() - 2 : y.rank() - 1, y.rank()) : s;
  };
  const Value factor = scale(1, true) * scale(4, false) / scale(6, true);
  const Value zero = input(n, 7);
  const Value spread_zero =
      product(zero.sizes()) == 1 ? zero.cast(kFloat32).reshape({}) : zero.cast(kFloat32);
  return {quantize(y.cast(kFloat32) * factor, spread_zero, zero.dtype())};
}

std::vector<NodeId> convert_qlinear_conv(Node& n) {
  const Value x = input(n, 0).cast(kInt32) - input(n, 2).cast(kInt32).reshape({});
  Value w = input(n, 3).cast(kInt32);
  const auto per_channel = [&](Value v, std::int64_t axis) {
    return product(v.sizes()) == 1 ? v.reshape({}) : along(v, axis, w.rank());
  };
  w = w - per_channel(input(n, 5).cast(kInt32), 0);
  Value y = convolve(x, w);
  if (n.has_input(8)) y = y + along(input(n, 8), 1, y.rank());
  const Value factor =
      input(n, 1).reshape({}) * per_channel(input(n, 4), 1) / input(n, 6).reshape({});
  const Value zero = input(n, 7);
  return {quantize(y.cast(kFloat32) * factor, zero.cast(kFloat32).reshape({}), zero.dtype())};
}

constexpr Converter kQuantizeTable[] = {
    {"QuantizeLinear", 10, convert_quantize},
    {"DequantizeLinear", 10, convert_dequantize},
    {"DynamicQuantizeLinear", 11, convert_dynamic_quantize},
    {"MatMulInteger", 10, convert_matmul_integer},
    {"QLinearMatMul", 10, convert_qlinear_matmul},
    {"QLinearConv", 10, convert_qlinear_conv},
};

}  // namespace

extern const std::span<const Converter> quantize_converters;
const std::span<const Converter> quantize_converters = kQuantizeTable;

}  // namespace tessera::import
