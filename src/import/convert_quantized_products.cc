// SPDX-License-Identifier: Apache-2.0
// Products and convolutions of quantised operands: sums of integers, which are exact, and then one
// factor.
#include "import/converters.h"
#include "import/quantization.h"
#include "import/window.h"

namespace tessera::import {
namespace {

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

std::vector<NodeId> convert_matmul_integer_to_float(Node& n) {
  Value a = input(n, 0).cast(kInt32);
  if (n.has_input(4)) a = a - input(n, 4).cast(kInt32).reshape({});
  const Value sum = a.matmul(shifted(n, 1, 5, false));
  return {dequantized_sum(sum, number_of(n, 2), 3, 6).cast(n.dtype(n.input(2)))};
}

std::vector<NodeId> convert_dynamic_quantize_matmul(Node& n) {
  const Quantized a = quantize_by_range(input(n, 0));
  const Value sum = (a.values.cast(kInt32) - a.zero.cast(kInt32)).matmul(shifted(n, 1, 3, false));
  return {dequantized_sum(sum, a.scale, 2, 4)};
}

// C is of the sum's scale. Without a scale the result is not quantised.
std::vector<NodeId> convert_qgemm(Node& n) {
  const bool trans_a = n.flag_attr("transA", false), trans_b = n.flag_attr("transB", false);
  const Value a = input(n, 0).cast(kInt32) - input(n, 2).cast(kInt32).reshape({});
  const Value b = shifted(n, 3, 5, trans_b);
  if (a.rank() != 2 || b.rank() != 2) {
    n.invalid(Code::kShapeMismatch, "its operands must have two dimensions");
  }
  Value sum(
      n,
      n.call("nn.matmul", {a, b},
             {{"units", relay::AttrValue()}, {"transpose_a", trans_a}, {"transpose_b", trans_b}}));
  if (n.has_input(6)) sum = sum + input(n, 6);
  Value factor = number_of(n, 1) * column_scale(n, 4, 2);
  if (const double alpha = n.float_attr("alpha", 1); alpha != 1) factor = factor * alpha;
  if (!n.has_input(7)) return {sum.cast(kFloat32) * factor};
  return {quantize(sum.cast(kFloat32) * (factor / number_of(n, 7)), number_of(n, 8),
                   n.dtype(n.input(8)))};
}

constexpr Converter kQuantizedProductsTable[] = {
    {"MatMulInteger", 10, convert_matmul_integer},
    {"QLinearMatMul", 10, convert_qlinear_matmul},
    {"QLinearConv", 10, convert_qlinear_conv},
    {"com.microsoft.MatMulIntegerToFloat", 1, convert_matmul_integer_to_float},
    {"com.microsoft.DynamicQuantizeMatMul", 1, convert_dynamic_quantize_matmul},
    {"com.microsoft.QGemm", 1, convert_qgemm},
};

}  // namespace

extern const std::span<const Converter> quantized_products_converters;
const std::span<const Converter> quantized_products_converters = kQuantizedProductsTable;

}  // namespace tessera::import
