// SPDX-License-Identifier: Apache-2.0
#include "passes/constant_product.h"

#include "ops/attrs/matmul.h"

namespace tessera::passes {

using relay::Function;
using relay::is_call_of;
using relay::NodeId;

// Sums of integers have scales of their own, in the kernel of their product.
std::optional<ConstantProduct> constant_product(const Function& f, const relay::Uses& uses,
                                                NodeId id) {
  const bool is_dense = is_call_of(f, id, "nn.dense");
  if (!is_dense && !is_call_of(f, id, "nn.matmul")) return std::nullopt;
  if (!f.type(id).is_tensor() || !f.type(id).dtype().is_float()) return std::nullopt;
  const NodeId weight = f.operands(id)[1];
  const Shape& shape = f.type(weight).shape();
  if (f.as<relay::Constant>(weight) == nullptr || shape.size() != 2) return std::nullopt;
  const bool has_rows_of_terms =
      is_dense || relay::read_attrs<ops::MatmulAttrs>(f.as<relay::OpCall>(id)->attrs).transpose_b;
  const std::int64_t width = shape[has_rows_of_terms ? 0 : 1].constant();
  ConstantProduct p{id, id, weight, {}, width, has_rows_of_terms};
  const auto users = uses.of(id);
  if (uses.is_result(id) || users.size() != 1 || !is_call_of(f, users[0], "add") ||
      f[users[0]].region != Function::kBody) {
    return p;
  }
  const auto operands = f.operands(users[0]);
  const NodeId bias = operands[operands[0] == id ? 1 : 0];
  const bool is_vector = f.as<relay::Constant>(bias) != nullptr &&
                         f.type(bias).shape() == Shape{Dim(width)} &&
                         f.type(bias).dtype() == f.type(id).dtype();
  if (is_vector) {
    p.root = users[0];
    p.bias = bias;
  }
  return p;
}

}  // namespace tessera::passes
