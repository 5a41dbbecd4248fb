// SPDX-License-Identifier: Apache-2.0
// Convolutions whose channels TMA cannot read, or for devices without it: as gemm_sm80.cuh, with
// iterators that gather what the window sees.
#pragma once

#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/conv_kernel_sm80.cuh"

namespace tessera::cutlass {

// As GemmSm80. Where the window's channels are few, kHasFewChannels, steps along K cross its
// places; else a step has channels of one place.
template <class Problem, class Config, class Function>
struct ConvSm80 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Nhwc = ::cutlass::layout::TensorNHWC;
  using Iterators = ::cutlass::conv::IteratorAlgorithm;
  using Behind = ConvEpilogue<Problem, Config, Function>;
  using Swizzle = ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
  using Base = ::cutlass::conv::kernel::DefaultConv2dFprop<
      A, Nhwc, B, Nhwc, typename Behind::Laid::Element, Nhwc, typename Problem::Sum,
      ::cutlass::arch::OpClassTensorOp, ::cutlass::arch::Sm80, typename Config::Tile,
      typename Config::Warp, typename Instruction<A>::Shape, typename Behind::OutputOp, Swizzle,
      Config::kStages, typename Config::Math,
      Problem::kHasFewChannels ? Iterators::kFewChannels : Iterators::kOptimized,
      ::cutlass::conv::StrideSupport::kStrided, Problem::kAlignA, Problem::kAlignB>;
  using Kernel = ConvKernel<typename Base::Mma, typename Behind::template Of<Base>, Swizzle,
                            ConvOperator::kFprop>;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    const ConvSize size = conv_size(g.window, g.n);
    return launch_conv<Kernel, D>(
        code, call,
        Kernel::params_of(size, Kernel::grid_of(size), g.a.data, g.b.data,
                          Behind::Tree::arguments(g, typename Function::Positions{})));
  }
};

}  // namespace tessera::cutlass
