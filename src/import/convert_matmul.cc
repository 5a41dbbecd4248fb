// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm. Constant operands stay as the model has them: back ends bring weights into
// the layout that they like.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// Vectors get a dimension for the product and lose it again.
std::vector<NodeId> convert_matmul(Node& n) {
  Value a = input(n, 0), b = input(n, 1);
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (a.rank() == 0 || b.rank() == 0) n.invalid(Code::kShapeMismatch, "an operand is a scalar");
  if (row) a = a.expand_dims(0);
  if (column) b = b.expand_dims(1);
  Value y = a.matmul(b);
  if (column) y = y.squeeze(y.rank() - 1);
  return {row ? y.squeeze(y.rank() - (column ? 1 : 2)) : y};
}

Value scaled(Value x, double factor) { return factor == 1 ? x : x * factor; }

std::vector<NodeId> convert_gemm(Node& n) {
  const NodeId a = n.input(0), b = n.input(1);
  const bool trans_a = n.flag_attr("transA", false), trans_b = n.flag_attr("transB", false);
  const double alpha = n.float_attr("alpha", 1), beta = n.float_attr("beta", 1);
  n.ignore_attr("broadcast");    // of opset 6 and older: always done since
  const relay::AttrValue units;  // follows from the weight
  const NodeId product =
      !trans_a && trans_b
          ? n.call("nn.dense", {a, b}, {{"units", units}})
          : n.call("nn.matmul", {a, b},
                   {{"units", units}, {"transpose_a", trans_a}, {"transpose_b", trans_b}});
  const Value y = scaled(Value(n, product), alpha);
  if (!n.has_input(2)) return {y};
  const Value c = input(n, 2);
  return {beta == 0 ? y : y + scaled(c, beta)};
}

constexpr Converter kMatmulTable[] = {
    {"MatMul", 1, convert_matmul},
    {"Gemm", 1, convert_gemm},
};

}  // namespace

extern const std::span<const Converter> matmul_converters;
const std::span<const Converter> matmul_converters = kMatmulTable;

}  // namespace tessera::import
