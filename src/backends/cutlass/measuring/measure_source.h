// SPDX-License-Identifier: Apache-2.0
// The text of programs that measure kernels: see kernels/measure_contest.cuh.
#pragma once

#include <span>

#include "backends/cutlass/attention/attention_configuration.h"
#include "backends/cutlass/gemm/configuration.h"
#include "backends/cutlass/gemm/gemm.h"
#include "support/source.h"

namespace tessera::backends::cutlass {

// The program's CUDA source, equal for work that differs in its sizes alone.
Source measure_source(const Gemm& gemm);
Source measure_source(const Attention& attention);
// The C++ source that tells it sizes and candidates, in their order. Sizes must be numbers.
Source measure_table(const Gemm& gemm, std::span<const Configuration> candidates);
Source measure_table(const Attention& attention,
                     std::span<const AttentionConfiguration> candidates);

// How such a program calls an element type.
Source measured_element(DType dtype);

}  // namespace tessera::backends::cutlass
