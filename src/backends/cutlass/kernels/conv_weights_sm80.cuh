// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions by their weights: D[O, R S C], OHWI, of the gradient by the places,
// NHWC, and what the window sees of the image, NHWC. The result has few tiles, and the sums are
// long: blocks share a tile along K.
#pragma once

#include <cutlass/conv/kernel/default_conv2d_wgrad.h>
#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/conv_kernel_sm80.cuh"
#include "backends/cutlass/kernels/split_sums_sm80.cuh"

namespace tessera::cutlass {

template <class Mma, class Epilogue, class Swizzle>
struct SplitConvKernel : ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kWgrad> {
  using Base = ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kWgrad>;
  using typename Base::Sums;
  using Split = SplitSums<Sums, Base::kThreadCount>;

  struct Params : Base::Params {
    typename Split::Params split;
  };
  struct SharedStorage {
    typename Base::SharedStorage of_block;
    int32_t arrived;
  };

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    GemmCoord tile;
    if (!Base::find_tile(p, tile)) return;
    alignas(sizeof(typename Split::Vector)) Sums sums;
    sums.clear();
    Base::multiply(p, tile, shared.of_block.main_loop, sums);
    if (p.grid.k() > 1 && !Split::join(p.split, tile, shared.arrived, sums)) return;
    Base::finish(p, {tile.m(), tile.n(), 0}, p.shape, shared.of_block.epilogue, sums);
  }
};

// As ConvSm80, with A the gradient by the places and B the image.
template <class Problem, class Config, class Function>
struct ConvWeightsSm80 {
  using Nhwc = ::cutlass::layout::TensorNHWC;
  using Behind = ConvEpilogue<Problem, Config, Function>;
  using Swizzle = ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
  using Default = ::cutlass::conv::kernel::DefaultConv2dWgrad<
      typename Problem::A, Nhwc, typename Problem::B, Nhwc, typename Behind::Laid::Element, Nhwc,
      typename Problem::Sum, ::cutlass::arch::OpClassTensorOp, ::cutlass::arch::Sm80,
      typename Config::Tile, typename Config::Warp,
      typename Instruction<typename Problem::A>::Shape, typename Behind::OutputOp, Swizzle,
      Config::kStages, typename Config::Math, ::cutlass::conv::IteratorAlgorithm::kOptimized,
      ::cutlass::conv::StrideSupport::kStrided, Problem::kAlignA, Problem::kAlignB>;
  using Kernel =
      SplitConvKernel<typename Default::Mma, typename Behind::template Of<Default>, Swizzle>;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    const ConvSize size = conv_size(g.window, g.m, g.splits > 1 ? g.splits : 1);
    const GemmCoord grid = Kernel::grid_of(size);
    typename Kernel::Split::Params split;
    if (!Kernel::Split::prepare(code, call, grid, split)) return 1;
    const typename Kernel::Params params{
        Kernel::params_of(size, grid, g.a.data, g.b.data,
                          Behind::Tree::arguments(g, typename Function::Positions{})),
        split};
    return launch_conv<Kernel, typename Problem::D>(code, call, params);
  }
};

}  // namespace tessera::cutlass
