// SPDX-License-Identifier: Apache-2.0
// Convolutions on Hopper as products: TMA gathers what the window sees, and each block of threads
// computes one tile.
#pragma once

// Programmatic dependent launch: the kernel waits for the one before it on the device.
#define CUTLASS_ENABLE_GDC_FOR_SM90 1

// clang-format off: the headers of convolutions do not include what they use.
#include "backends/cutlass/kernels/epilogue_sm90.cuh"
// clang-format on

#include <cutlass/conv/collective/collective_builder.hpp>
#include <cutlass/conv/convnd_problem_shape.hpp>
#include <cutlass/conv/kernel/conv_universal.hpp>

#include "backends/cutlass/kernels/launch_sm90.cuh"

namespace tessera::cutlass {

// As GemmSm90, with A in NHWC and B in OHWI. Config: Tile (TM, TN, (TK)), where TK are channels,
// Cluster, and kBlocks: how many share a multiprocessor, each with its part of the memory.
template <class Problem, class Config, class Function>
struct ConvSm90 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Tile = typename Config::Tile;
  using Cluster = typename Config::Cluster;
  using Tree = EpilogueTree<Function, typename Problem::Sum, D, Tile, typename Function::Inputs,
                            typename Function::Positions>;
  using Nhwc = ::cutlass::layout::TensorNHWC;
  using Tensor = ::cutlass::arch::OpClassTensorOp;
  using Sm90 = ::cutlass::arch::Sm90;

  // What a block must leave of a block's most shared memory, some for the pipelines' barriers.
  static constexpr int kSharedBytes = 227 * 1024;
  static constexpr int kLeft = kSharedBytes - kSharedBytes / Config::kBlocks + 2048;

  using Epilogue = typename ::cutlass::epilogue::collective::CollectiveBuilder<
      Sm90, Tensor, Tile, Cluster, ::cutlass::epilogue::collective::EpilogueTileAuto,
      typename Problem::Sum, float, typename Tree::Source, Nhwc, Problem::kAlignD, D, Nhwc,
      Problem::kAlignD, ::cutlass::epilogue::TmaWarpSpecialized, typename Tree::Type>::CollectiveOp;
  using Mainloop = typename ::cutlass::conv::collective::CollectiveBuilder<
      Sm90, Tensor, ::cutlass::conv::Operator::kFprop, A, Nhwc, Problem::kAlignA, B, Nhwc,
      Problem::kAlignB, typename Problem::Sum, Tile, Cluster,
      ::cutlass::conv::collective::StageCountAutoCarveout<kLeft>,
      ::cutlass::conv::KernelImplicitTmaWarpSpecializedSm90>::CollectiveOp;
  using Shape = ::cutlass::conv::ConvProblemShape<::cutlass::conv::Operator::kFprop, 2>;
  struct Kernel : ::cutlass::conv::kernel::ConvUniversal<Shape, Mainloop, Epilogue> {
    static constexpr uint32_t MinBlocksPerMultiprocessor = Config::kBlocks;
  };
  static_assert(Kernel::SharedStorageSize * Config::kBlocks <= kSharedBytes);

  static Shape shape_of(const GemmArguments& g) {
    const Window& w = g.window;
    return Shape(::cutlass::conv::Mode::kCrossCorrelation, {w.batch, w.height, w.width, w.channels},
                 {int(g.n), w.rows, w.columns, w.channels}, {w.padding[0], w.padding[1]},
                 {w.padding[2], w.padding[3]}, {w.strides[0], w.strides[1]},
                 {w.dilation[0], w.dilation[1]}, 1);
  }

  static typename Kernel::Arguments arguments(const GemmArguments& g) {
    const Window& w = g.window;
    const void* source = nullptr;
    if constexpr (Tree::kSource >= 0) source = g.inputs[Tree::kSource].data;
    typename Kernel::StrideD stride{};  // ((column, row, image), channel, -)
    cute::get<0, 0>(stride) = g.n;
    cute::get<0, 1>(stride) = g.n * w.out_width;
    cute::get<0, 2>(stride) = g.n * w.out_width * w.out_height;
    return {shape_of(g),
            {static_cast<const A*>(g.a.data), static_cast<const B*>(g.b.data)},
            {Tree::arguments(g), static_cast<const typename Tree::Source*>(source), stride,
             static_cast<D*>(g.d.data), stride}};
  }

  using Entry = EntrySm90<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    const auto args = arguments(g);
    if (!Kernel::can_implement(args)) {
      return failed(call, code, "the sizes are not what the kernel was compiled for");
    }
    return launch_sm90<Kernel, Cluster>(code, call, Kernel::to_underlying_arguments(args, nullptr),
                                        g.dependent != 0);
  }
};

}  // namespace tessera::cutlass
