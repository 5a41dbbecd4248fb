// SPDX-License-Identifier: Apache-2.0
// Kernels of Hopper's collectives: in clusters, and early where the caller says so.
#pragma once

#include <cute/tensor.hpp>

#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

// What TESSERA_KERNEL wants to know.
template <class Kernel>
struct EntrySm90 {
  using Params = typename Kernel::Params;
  static constexpr int kThreads = Kernel::MaxThreadsPerBlock;
  static constexpr int kBlocks = Kernel::MinBlocksPerMultiprocessor;
  static CUTLASS_DEVICE void compute(const Params& params, char* shared) {
    Kernel()(params, shared);
  }
};

template <class Kernel, class Cluster>
int32_t launch_sm90(KernelCode& code, const tessera_call* call,
                    const typename Kernel::Params& params, bool is_dependent) {
  const dim3 cluster(cute::size<0>(Cluster{}), cute::size<1>(Cluster{}), 1);
  return launch(code, call, params,
                {Kernel::get_grid_shape(params), Kernel::get_block_shape(), cluster,
                 Kernel::SharedStorageSize, is_dependent});
}

}  // namespace tessera::cutlass
