// SPDX-License-Identifier: Apache-2.0
// How a kernel of Hopper's collectives is launched: with all the shared memory that it wants, in
// clusters, and early where the caller says so.
#pragma once

#include <cute/tensor.hpp>
#include <cutlass/cluster_launch.hpp>
#include <cutlass/device_kernel.h>
#include <cutlass/kernel_launch.h>

#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

// False: cudaGetLastError() says why. Dependent: it may start while the kernel before it ends.
template <class Kernel, class Cluster>
bool launch_sm90(typename Kernel::Params params, cudaStream_t stream, bool is_dependent) {
  constexpr int kBytes = Kernel::SharedStorageSize;
  const void* kernel = reinterpret_cast<const void*>(&::cutlass::device_kernel<Kernel>);
  if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes) !=
      cudaSuccess) {
    return false;
  }
  const dim3 grid = Kernel::get_grid_shape(params), block = Kernel::get_block_shape();
  if constexpr (cute::size(Cluster{}) == 1) {
    return ::cutlass::kernel_launch<Kernel>(grid, block, kBytes, stream, params, is_dependent) ==
           ::cutlass::Status::kSuccess;
  }
  void* values[] = {&params};
  const dim3 cluster(cute::size<0>(Cluster{}), cute::size<1>(Cluster{}), 1);
  return ::cutlass::ClusterLauncher::launch(grid, cluster, block, kBytes, stream, kernel, values,
                                            is_dependent) == ::cutlass::Status::kSuccess;
}

}  // namespace tessera::cutlass
