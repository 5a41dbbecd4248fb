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
#include "backends/cutlass/kernels/split_sums_sm80.cuh"

namespace tessera::cutlass {

// CUTLASS's kernel with visitors, which has no sums in parts. Blocks along z are those, or the
// matrices of a batch.
template <class Default>
struct SplitGemmKernel {
  using Mma = typename Default::Mma;
  using Epilogue = typename Default::Epilogue;
  using Swizzle = typename Default::ThreadblockSwizzle;
  using Tile = typename Mma::Shape;
  using Sums = typename Mma::FragmentC;
  using GemmCoord = ::cutlass::gemm::GemmCoord;
  static constexpr int kThreadCount = Default::kThreadCount;
  using Split = SplitSums<Sums, kThreadCount>;
  static constexpr bool kCanSplit = sizeof(typename Sums::Element) == 4;

  struct Params {
    typename Default::Params product;
    typename Split::Params split;
    int part_of_k;  // what a block goes through along K
  };
  struct SharedStorage {
    typename Default::SharedStorage of_block;
    int32_t arrived;
  };

  static CUTLASS_DEVICE void multiply(const Params& params, const GemmCoord& tile, int part,
                                      int matrix, typename Mma::SharedStorage& shared, Sums& sums) {
    const auto& p = params.product;
    const int thread = threadIdx.x, lane = thread % 32;
    const int begin = part * params.part_of_k,
              end = ::cutlass::fast_min(begin + params.part_of_k, p.problem_size.k());
    typename Mma::IteratorA a(
        p.params_A, static_cast<typename Default::ElementA*>(p.ptr_A) + matrix * p.batch_stride_A,
        {p.problem_size.m(), end}, thread, {tile.m() * Tile::kM, begin});
    typename Mma::IteratorB b(
        p.params_B, static_cast<typename Default::ElementB*>(p.ptr_B) + matrix * p.batch_stride_B,
        {end, p.problem_size.n()}, thread, {begin, tile.n() * Tile::kN});
    Mma mma(shared, thread, ::cutlass::canonical_warp_idx_sync(), lane);
    mma((end - begin + Tile::kK - 1) / Tile::kK, sums, a, b, sums);
  }

  CUTLASS_DEVICE void operator()(const Params& params, SharedStorage& shared) {
    const auto& p = params.product;
    const GemmCoord tile = Swizzle().get_tile_offset(p.swizzle_log_tile);
    const GemmCoord& grid = params.split.grid;
    if (tile.m() >= grid.m() || tile.n() >= grid.n()) return;
    const bool is_split = kCanSplit && params.split.arrived != nullptr;
    const int matrix = is_split ? 0 : tile.k();
    alignas(sizeof(typename Split::Vector)) Sums sums;
    sums.clear();
    multiply(params, tile, is_split ? tile.k() : 0, matrix, shared.of_block.main_loop, sums);
    if constexpr (kCanSplit) {
      if (is_split && !Split::join(params.split, tile, shared.arrived, sums)) return;
    }
    const int thread = threadIdx.x, lane = thread % 32;
    Epilogue epilogue(p.output_op, shared.of_block.epilogue, thread,
                      ::cutlass::canonical_warp_idx_sync(), lane);
    epilogue(sums, {tile.m(), tile.n(), matrix}, p.problem_shape, thread);
  }
};

// As GemmSm90; Config: Tile, Warp, Math, kStages (2 where rows are of single 16-bit elements, which
// cp.async cannot copy).
template <class Problem, class Config, class Function>
struct GemmSm80 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using GemmCoord = ::cutlass::gemm::GemmCoord;
  using Laid = LaidOut<Problem>;
  using ThreadMap = visitors::OutputTileThreadLayout<typename Config::Tile, typename Config::Warp,
                                                     typename Laid::Element, Laid::kAccess, 1>;
  using Tree =
      VisitorTree<Function, typename Problem::Sum, D, ThreadMap, typename Function::Inputs>;
  static constexpr auto kNoTransform = ::cutlass::ComplexTransform::kNone;
  using Default = typename ::cutlass::gemm::kernel::DefaultGemmWithVisitor<
      A, typename Problem::LayoutA, kNoTransform, Problem::kAlignA, B, typename Problem::LayoutB,
      kNoTransform, Problem::kAlignB, typename Laid::Element, ::cutlass::layout::RowMajor,
      Laid::kAccess, typename Problem::Sum, float, ::cutlass::arch::OpClassTensorOp,
      ::cutlass::arch::Sm80, typename Config::Tile, typename Config::Warp,
      typename Instruction<A>::Shape, typename Tree::Type,
      ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, Config::kStages,
      typename Config::Math, 1>::GemmKernel;
  using Kernel = SplitGemmKernel<Default>;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    using Mode = ::cutlass::gemm::GemmUniversalMode;
    const typename Default::Arguments args(
        g.batch > 1 ? Mode::kBatched : Mode::kGemm, {int(g.m), int(g.n), int(g.k)}, int(g.batch),
        Tree::arguments(g, typename Function::Positions{}), g.a.data, g.b.data, nullptr, nullptr,
        g.a.batch_stride, g.b.batch_stride, 0, 0, g.a.row_stride, g.b.row_stride, 0, 0);
    // The numbers of multiprocessors and of blocks on each matter to stream-K alone.
    typename Kernel::Params params{typename Default::Params(args, 0, 0), {}, int(g.k)};
    GemmCoord tiles = params.product.grid_tiled_shape;
    const int splits = split_along_k(g, params);
    if (splits > 1) tiles.k() = splits;
    const dim3 grid = Kernel::Swizzle::get_grid_shape(tiles);
    if (Default::can_implement(args) != ::cutlass::Status::kSuccess || grid.y > kMostBlocksOfGrid ||
        grid.z > kMostBlocksOfGrid) {
      return failed(call, code, "the sizes or strides are not what the kernel was compiled for");
    }
    const GemmCoord parts(tiles.m(), tiles.n(), splits);
    if (!Kernel::Split::prepare(code, call, parts, params.split)) return 1;
    return launch_sm80<Kernel>(code, call, params, grid);
  }

 private:
  // Parts are of whole steps, so that there may be fewer than is asked for.
  static int split_along_k(const GemmArguments& g, typename Kernel::Params& params) {
    if (!Kernel::kCanSplit || g.splits < 2 || g.batch > 1) return 1;
    constexpr int kStep = Config::Tile::kK;
    const int steps = ::cutlass::ceil_div(int(g.k), kStep);
    params.part_of_k = ::cutlass::ceil_div(steps, int(g.splits)) * kStep;
    return ::cutlass::ceil_div(int(g.k), params.part_of_k);
  }
};

}  // namespace tessera::cutlass
