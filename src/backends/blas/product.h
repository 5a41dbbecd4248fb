// SPDX-License-Identifier: Apache-2.0
// A match as one product of matrices, or of batches of them.
#pragma once

#include <cstdint>

#include "byoc/backend.h"

namespace tessera::backends::blas {

// As tessera_blas_product in runtime/blas_runtime.h says.
struct Product {
  int bits = 32;
  bool transpose_a = false, transpose_b = false;
  bool rows_of_batch = false;  // a's batch and rows are one
  Dim m = 0, n = 0, k = 0;
  Dim batch = 1, stride_a = 0, stride_b = 0;
  double alpha = 1;
  relay::NodeId a, b;  // inputs of the match
  std::size_t rank_a = 0, rank_b = 0;

  // Are all sizes numbers?
  bool is_static() const {
    return m.is_constant() && n.is_constant() && k.is_constant() && batch.is_constant();
  }
};

// Captures: "core", the product; "alpha", a constant that it is multiplied by.
Expected<Product, byoc::Refusal> describe(const relay::Match& match);

}  // namespace tessera::backends::blas
