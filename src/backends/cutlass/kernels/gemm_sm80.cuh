// SPDX-License-Identifier: Apache-2.0
// Matrix products whose rows are no multiples of 16 bytes, which TMA cannot read: loads of 8, 4 or
// 2 bytes and mma.sync, with the same epilogue as the kernels of gemm_sm90.cuh.
#pragma once

#include <cutlass/cutlass.h>
// The headers of the visitors do not include what they use.
#include <cutlass/epilogue/threadblock/default_epilogue_tensor_op.h>
#include <cutlass/gemm/gemm.h>
#include <cutlass/gemm/kernel/default_gemm_universal_with_visitor.h>

#include "backends/cutlass/kernels/epilogue_sm80.cuh"
#include "backends/cutlass/kernels/launch_sm80.cuh"

namespace tessera::cutlass {

// As GemmSm90; Config: Tile, Warp, Math, kStages (2 where rows are of single 16-bit elements, which
// cp.async cannot copy).
template <class Problem, class Config, class Function>
struct GemmSm80 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Laid = LaidOut<Problem>;
  using ThreadMap = visitors::OutputTileThreadLayout<typename Config::Tile, typename Config::Warp,
                                                     typename Laid::Element, Laid::kAccess, 1>;
  using Tree =
      VisitorTree<Function, typename Problem::Sum, D, ThreadMap, typename Function::Inputs>;
  static constexpr auto kNoTransform = ::cutlass::ComplexTransform::kNone;
  using Kernel = typename ::cutlass::gemm::kernel::DefaultGemmWithVisitor<
      A, typename Problem::LayoutA, kNoTransform, Problem::kAlignA, B, typename Problem::LayoutB,
      kNoTransform, Problem::kAlignB, typename Laid::Element, ::cutlass::layout::RowMajor,
      Laid::kAccess, typename Problem::Sum, float, ::cutlass::arch::OpClassTensorOp,
      ::cutlass::arch::Sm80, typename Config::Tile, typename Config::Warp,
      typename Instruction<A>::Shape, typename Tree::Type,
      ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, Config::kStages,
      typename Config::Math, 1>::GemmKernel;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    using Mode = ::cutlass::gemm::GemmUniversalMode;
    const typename Kernel::Arguments args(
        g.batch > 1 ? Mode::kBatched : Mode::kGemm, {int(g.m), int(g.n), int(g.k)}, int(g.batch),
        Tree::arguments(g, typename Function::Positions{}), g.a.data, g.b.data, nullptr, nullptr,
        g.a.batch_stride, g.b.batch_stride, 0, 0, g.a.row_stride, g.b.row_stride, 0, 0);
    // The numbers of multiprocessors and of blocks on each matter to stream-K alone.
    const typename Kernel::Params params(args, 0, 0);
    const dim3 grid = params.get_grid_dims();
    if (Kernel::can_implement(args) != ::cutlass::Status::kSuccess || grid.y > kMostBlocksOfGrid ||
        grid.z > kMostBlocksOfGrid) {
      return failed(call, code, "the sizes or strides are not what the kernel was compiled for");
    }
    return launch_sm80<Kernel>(code, call, params, grid);
  }
};

}  // namespace tessera::cutlass
