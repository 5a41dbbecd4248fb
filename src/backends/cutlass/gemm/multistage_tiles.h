// SPDX-License-Identifier: Apache-2.0
// What kernels of the multistage schedule there are, and what a block of one takes.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/cutlass/gemm/configuration.h"

namespace tessera::backends::cutlass {

// Those of the product that read its rows by `align` elements, 0 for as many as the sizes allow,
// each once; whether they fit the device is not asked.
std::vector<Configuration> multistage_kernels(const Gemm& gemm, int align);

// Within a seventh what ptxas of CUDA 13.0 counts for products on sm_80, where that is not more
// than there are, 255; of convolutions less is known. From 320 on they are missed: that is what
// spills by more than a few bytes.
int registers_of_thread(const Gemm& gemm, const Configuration& kernel);
int warps_of_block(const Configuration& kernel);
// The shared memory of tiles of A and B on their way, which is more than what the epilogue has in
// the same place later.
std::int64_t shared_bytes_of_block(const Gemm& gemm, const Configuration& kernel);
// As many blocks as share a multiprocessor by threads, registers and shared memory; one at least.
int resident_blocks(const Gemm& gemm, const Configuration& kernel, const Device& device);

}  // namespace tessera::backends::cutlass
