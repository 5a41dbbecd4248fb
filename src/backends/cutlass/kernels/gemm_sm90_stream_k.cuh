// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_sm90.cuh where tiles are fewer than multiprocessors: blocks share a tile
// along K and add their sums in the workspace, in a fixed order, so that equal runs give equal
// bits. They share tiles as the scheduler thinks best, or each tile among as many as GemmArguments
// says.
#pragma once

// With it CUTLASS 4.2's scheduler does not compile.
#define TESSERA_NO_DEPENDENT_LAUNCH 1
#include "backends/cutlass/kernels/gemm_sm90.cuh"

namespace tessera::cutlass {

struct StreamK : Cooperative {
  using Scheduler = ::cutlass::gemm::StreamKScheduler;
};

}  // namespace tessera::cutlass
