// SPDX-License-Identifier: Apache-2.0
// Fewer kernels for a model: each takes half a minute to compile.
#pragma once

#include <span>
#include <vector>

#include "backends/cutlass/gemm/configuration.h"

namespace tessera::backends::cutlass {

// A product with what can compute it, the presumably fastest first, and what is to.
struct Choice {
  Gemm gemm;
  std::vector<Configuration> candidates;
  Configuration chosen;
  bool is_measured = false;  // it stays as it is
};

// Makes products that differ in sizes alone and were not measured share kernels. Gives up the one
// that is missed least, and again, while there are more than three and what its products lose by
// others is at most a tenth.
void share_kernels(std::span<Choice> choices, const Device& device);

}  // namespace tessera::backends::cutlass
