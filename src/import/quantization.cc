// SPDX-License-Identifier: Apache-2.0
#include "import/quantization.h"

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

}  // namespace

Value saturate(Value whole, DType to) {
  const Limits l = limits(whole.node(), to);
  return minimum(maximum(whole, l.least), l.most).cast(to);
}

Value quantize(Value scaled, Value zero, DType to) {
  return saturate(scaled.apply("round") + zero, to);
}

Value number_of(Node& n, std::size_t i) {
  return input_or(n, i, 0, kFloat32).cast(kFloat32).reshape({});
}

void expect_zero_points_of(Node& n, std::size_t zero, std::size_t values) {
  if (!n.has_input(zero)) return;
  const NodeId z = n.input(zero), x = n.input(values);
  // What is computed may come as bytes where a constant has the narrow type.
  const bool is_other_narrow = n.is_known(z) && n.narrow_type(zero) != n.narrow_type(values);
  if (n.dtype(z) == n.dtype(x) && !is_other_narrow) return;
  n.invalid(Code::kDtypeMismatch, "its zero points are not of the type of its quantised values");
}

Quantized quantize_by_range(Value x) {
  const Ints all = range(0, x.rank());
  const Value least = minimum(x.apply("min", {{"axis", all}}), 0.0);
  const Value most = maximum(x.apply("max", {{"axis", all}}), 0.0);
  const Value step = (most - least) / 255.0;
  const Value scale = where(equal(step, 0.0), step.number(1), step);  // of zeros alone
  const Value zero = quantize(0.0 - least / scale, scale.number(0), kUInt8);
  return {quantize(x / scale, zero.cast(kFloat32), kUInt8), scale, zero};
}

Value shifted(Node& n, std::size_t i, std::size_t zero, bool of_rows) {
  const Value x = input(n, i).cast(kInt32);
  if (!n.has_input(zero)) return x;
  Value z = input(n, zero).cast(kInt32);
  if (product(z.sizes()) == 1) return x - z.reshape({});
  if (z.rank() == 1) z = along(z, of_rows ? x.rank() - 2 : x.rank() - 1, x.rank());
  return x - z;
}

Value column_scale(Node& n, std::size_t i, std::int64_t rank) {
  const Value s = input(n, i).cast(kFloat32);
  if (product(s.sizes()) == 1) return s.reshape({});
  return s.rank() == 1 ? along(s, rank - 1, rank) : s;
}

Value dequantized_sum(Value sum, Value scale_a, std::size_t scale_b, std::size_t bias) {
  Node& n = sum.node();
  const Value y = sum.cast(kFloat32) * (scale_a * column_scale(n, scale_b, sum.rank()));
  return n.has_input(bias) ? y + input(n, bias).cast(kFloat32) : y;
}

}  // namespace tessera::import
