// SPDX-License-Identifier: Apache-2.0
// Sums along K in parts by blocks of their own, which leave them in a workspace: kernels of the
// multistage schedule, for results with few tiles.
#pragma once

#include <vector>

#include "backends/cutlass/gemm/configuration.h"

namespace tessera::backends::cutlass {

// The default of `split_k_slices`, which asks for nothing.
bool leaves_splits_open(const Target& target);

// Has the configuration's kernel parts for that? Those for gradients by weights, and for single
// products of which all sizes are numbers, as the workspace's is, with sums of 32 bits.
bool can_split(const Gemm& gemm, const Configuration& c);

// With the parts that are the fastest by the model: of those that `split_k_slices` says, or, of
// gradients by weights where that says nothing, of any that are worth a look.
Configuration best_split(const Gemm& gemm, Configuration c, const Target& target,
                         const Device& device);

// With other parts: those of `split_k_slices`, or none, half and twice as many.
std::vector<Configuration> other_splits(const Gemm& gemm, const Configuration& c,
                                        const Target& target);

}  // namespace tessera::backends::cutlass
