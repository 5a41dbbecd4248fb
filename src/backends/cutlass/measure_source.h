// SPDX-License-Identifier: Apache-2.0
// The text of programs that measure kernels of products: see kernels/measure_contest.cuh.
#pragma once

#include <span>
#include <string>

#include "backends/cutlass/configuration.h"
#include "backends/cutlass/gemm.h"

namespace tessera::backends::cutlass {

// The program's CUDA source, equal for products that differ in their sizes alone.
std::string measure_source(const Gemm& gemm);
// The C++ source that tells it sizes and candidates, in their order. Sizes must be numbers.
std::string measure_table(const Gemm& gemm, std::span<const Configuration> candidates);

}  // namespace tessera::backends::cutlass
