// SPDX-License-Identifier: Apache-2.0
// For tests that compile kernels: is there what that takes?
#pragma once

#include "backends/cutlass/cutlass.h"
#include "link/cuda_compiler.h"
#include "support/testing/requirement.h"

namespace tessera::backends::cutlass::testing {

inline bool has_nvcc() {
  return tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value());
}

// nvcc, and CUTLASS's headers.
inline bool can_compile() {
  const bool has_headers = !cutlass_backend().available(Target("cutlass"));
  return has_nvcc() && tessera::testing::is_there("cutlass", has_headers);
}

}  // namespace tessera::backends::cutlass::testing
