// SPDX-License-Identifier: Apache-2.0
#include "passes/row_product.h"

#include "ops/attrs/matmul.h"

namespace tessera::passes {

std::optional<RowProduct> row_product(const relay::Function& f, relay::NodeId id) {
  bool has_rows_of_terms = relay::is_call_of(f, id, "nn.dense");
  if (relay::is_call_of(f, id, "nn.matmul")) {
    const auto attrs = relay::read_attrs<ops::MatmulAttrs>(f.as<relay::OpCall>(id)->attrs);
    if (attrs.transpose_a) return std::nullopt;
    has_rows_of_terms = attrs.transpose_b;
  } else if (!has_rows_of_terms) {
    return std::nullopt;
  }
  return RowProduct{f.operands(id)[0], f.operands(id)[1], has_rows_of_terms};
}

}  // namespace tessera::passes
