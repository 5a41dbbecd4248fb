// SPDX-License-Identifier: Apache-2.0
// Products with constant matrices, as layers have them.
#pragma once

#include <optional>

#include "relay/rewrite.h"

namespace tessera::passes {

// nn.dense or nn.matmul of floats with a constant matrix, and the addition of a constant vector
// that alone reads it.
struct ConstantProduct {
  relay::NodeId product, root;  // the root is the product itself where there is no bias
  relay::NodeId weight, bias;
  std::int64_t width = 0;          // columns of the result
  bool has_rows_of_terms = false;  // the matrix is [width, terms], not [terms, width]
};
std::optional<ConstantProduct> constant_product(const relay::Function& f, const relay::Uses& uses,
                                                relay::NodeId id);

}  // namespace tessera::passes
