// SPDX-License-Identifier: Apache-2.0
// Products of rows of terms with a matrix: `nn.dense`, and `nn.matmul` that transposes no data.
#pragma once

#include <optional>

#include "relay/function.h"

namespace tessera::passes {

struct RowProduct {
  relay::NodeId data, matrix;
  bool has_rows_of_terms = false;  // the matrix is [columns, terms], else [terms, columns]
};
std::optional<RowProduct> row_product(const relay::Function& f, relay::NodeId id);

}  // namespace tessera::passes
