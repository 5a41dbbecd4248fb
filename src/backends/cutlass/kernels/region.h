// SPDX-License-Identifier: Apache-2.0
// What the functions of regions are written with.
#pragma once

#include "backends/cutlass/kernels/attention.h"
#include "backends/cutlass/kernels/gemm.h"
#include "tessera/call.h"

namespace tessera::cutlass {

inline void* data(const tessera_tensor* t) { return static_cast<char*>(t->data) + t->byte_offset; }

// The product of the dimensions [first, last).
inline int64_t size(const tessera_tensor* t, int32_t first, int32_t last) {
  int64_t product = 1;
  for (int32_t d = first; d < last; ++d) product *= t->shape[d];
  return product;
}

}  // namespace tessera::cutlass
