// SPDX-License-Identifier: Apache-2.0
// Kernels of CUTLASS 2.
#pragma once

#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/launch.cuh"

namespace tessera::cutlass {

// What TESSERA_KERNEL wants to know.
template <class Kernel>
struct EntrySm80 {
  using Params = typename Kernel::Params;
  static constexpr int kThreads = Kernel::kThreadCount;
  static constexpr int kBlocks = 1;
  static CUTLASS_DEVICE void compute(const Params& params, char* shared) {
    Kernel()(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
  }
};

template <class Kernel>
int32_t launch_sm80(KernelCode& code, const tessera_call* call,
                    const typename Kernel::Params& params, const dim3& grid) {
  return launch(code, call, params,
                {grid, dim3(Kernel::kThreadCount), dim3(1, 1, 1),
                 int(sizeof(typename Kernel::SharedStorage))});
}

}  // namespace tessera::cutlass
