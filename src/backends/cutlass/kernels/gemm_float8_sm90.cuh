// SPDX-License-Identifier: Apache-2.0
// The kernels of gemm_sm90.cuh for floats of eight bits, both operands along K.
#pragma once

#include "backends/cutlass/kernels/gemm_sm90.cuh"
// That of sums which are added up in float32 on the way.
#include <cutlass/gemm/collective/sm90_mma_tma_gmma_ss_warpspecialized_fp8.hpp>

namespace tessera::cutlass {

// Sums stay in the registers of the tensor cores, which keep about 14 bits of each addition.
struct PingpongFastSums : Pingpong {
  using Mainloop = ::cutlass::gemm::KernelTmaWarpSpecializedPingpongFP8FastAccum;
};
struct CooperativeFastSums : Cooperative {
  using Mainloop = ::cutlass::gemm::KernelTmaWarpSpecializedCooperativeFP8FastAccum;
};

}  // namespace tessera::cutlass
