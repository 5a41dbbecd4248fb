// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm. Constant operands stay as the model has them: back ends bring weights into the layout that they like.
#include "import/converters.h"

namespace tessera::import {
namespace {

// Vectors get a dimension for the product and lose it again.
std::vector<NodeId> convert_matmul(Node& n) {
  NodeId a = n.input(0), b = n.input(1);
  const bool row = n.rank(a) == 1, column = n.rank(b) == 1;
  if (n.rank(a) == 0 || n.rank(b) == 0) n.invalid(Code::kShapeMismatch, "an operand is a scalar");
  if (row) a = n.reshape(a, {1, n.sizes(a)[0]});
  if (column) b = n.reshape(b, {n.sizes(b)[0], 1});
  const NodeId y = n.call("nn.matmul", {a, b}, {{"units", relay::AttrValue()}});
  if (!row && !column) return {y};
  std::vector<std::int64_t> sizes = n.sizes(y);
  if (row) sizes.erase(sizes.end() - 2);
  if (column) sizes.pop_back();
  return {n.reshape(y, sizes)};
}

NodeId scaled(Node& n, NodeId x, double factor) {
  return factor == 1 ? x : n.call("multiply", {x, n.scalar(factor, n.dtype(x))});
}

std::vector<NodeId> convert_gemm(Node& n) {
  const NodeId a = n.input(0), b = n.input(1);
  const bool trans_a = n.int_attr("transA", 0) != 0, trans_b = n.int_attr("transB", 0) != 0;
  const relay::AttrValue units;  // follows from the weight
  NodeId y = !trans_a && trans_b
                 ? n.call("nn.dense", {a, b}, {{"units", units}})
                 : n.call("nn.matmul", {a, b}, {{"units", units}, {"transpose_a", trans_a},
                                                {"transpose_b", trans_b}});
  y = scaled(n, y, n.float_attr("alpha", 1));
  if (!n.has_input(2) || n.float_attr("beta", 1) == 0) return {y};
  return {n.call("add", {y, scaled(n, n.input(2), n.float_attr("beta", 1))})};
}

constexpr Converter kTable[] = {
    {"MatMul", 1, convert_matmul},
    {"Gemm", 1, convert_gemm},
};

}  // namespace

extern const std::span<const Converter> matmul_converters;
const std::span<const Converter> matmul_converters = kTable;

}  // namespace tessera::import
