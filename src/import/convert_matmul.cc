// SPDX-License-Identifier: Apache-2.0
// MatMul and Gemm, and what onnxruntime's optimiser makes of them. Constant operands stay as the
// model has them: back ends bring weights into the layout that they like.
#include "import/activation.h"
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// How the dimensions of an operand are stored.
struct Stored {
  bool transposed = false;    // columns before rows
  bool batch_inside = false;  // the batch between both
};

// The batch comes first, as products have it.
Value batch_first(Value x, const Stored& stored, std::int64_t other_rank) {
  if (!stored.batch_inside) return x;
  if (x.rank() < 3 || x.rank() != other_rank) {
    x.node().invalid(Code::kShapeMismatch,
                     "with transBatchA or transBatchB its operands have three or more dimensions, "
                     "and equally many");
  }
  Ints axes = range(1, x.rank() - 1);
  axes.insert(axes.end(), {0, x.rank() - 1});
  return x.transpose(axes);
}

// Vectors get a dimension for the product and lose it again; nothing of them is transposed.
Value product_of(Value a, Value b, Stored of_a = {}, Stored of_b = {}) {
  Node& n = a.node();
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (a.rank() == 0 || b.rank() == 0) n.invalid(Code::kShapeMismatch, "an operand is a scalar");
  // onnxruntime reads such a matrix as if it were not transposed.
  if (column && !row && of_a.transposed)
    n.unsupported("the product of a transposed A and a vector");
  if (row) a = a.expand_dims(0);
  if (column) b = b.expand_dims(1);
  const std::int64_t rank_a = a.rank(), rank_b = b.rank();
  a = batch_first(a, of_a, rank_b);
  b = batch_first(b, of_b, rank_a);
  Value y(n, n.call("nn.matmul", {a, b},
                    {{"units", relay::AttrValue()},
                     {"transpose_a", of_a.transposed && !row},
                     {"transpose_b", of_b.transposed && !column}}));
  if (column) y = y.squeeze(y.rank() - 1);
  return row ? y.squeeze(y.rank() - (column ? 1 : 2)) : y;
}

std::vector<NodeId> convert_matmul(Node& n) { return {product_of(input(n, 0), input(n, 1))}; }

Value scaled(Value x, double factor) { return factor == 1 ? x : x * factor; }

std::vector<NodeId> convert_fused_matmul(Node& n) {
  const Stored a{n.flag_attr("transA", false), n.flag_attr("transBatchA", false)};
  const Stored b{n.flag_attr("transB", false), n.flag_attr("transBatchB", false)};
  return {scaled(product_of(input(n, 0), input(n, 1), a, b), n.float_attr("alpha", 1))};
}

Value gemm(Node& n) {
  const Value a = input(n, 0), b = weights_of(a, 1);
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
  if (!n.has_input(2)) return y;
  const Value c = weights_of(a, 2);
  return beta == 0 ? y : y + scaled(c, beta);
}

std::vector<NodeId> convert_gemm(Node& n) { return {gemm(n)}; }

std::vector<NodeId> convert_fused_gemm(Node& n) {
  const auto number = [&](std::string_view name) {
    return n.has_attr(name) ? std::optional(n.float_attr(name, 0)) : std::nullopt;
  };
  const Activation activation{n.string_attr("activation", ""), number("activation_alpha"),
                              number("activation_beta"), number("activation_gamma")};
  const Value y = gemm(n);
  return {activation.name.empty() ? y : activate(y, activation)};
}

constexpr Converter kMatmulTable[] = {
    {"MatMul", 1, convert_matmul},
    {"Gemm", 1, convert_gemm},
    {"com.microsoft.FusedMatMul", 1, convert_fused_matmul},
    {"com.microsoft.FusedGemm", 1, convert_fused_gemm},
};

}  // namespace

extern const std::span<const Converter> matmul_converters;
const std::span<const Converter> matmul_converters = kMatmulTable;

}  // namespace tessera::import
