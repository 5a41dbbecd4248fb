// SPDX-License-Identifier: Apache-2.0
// Gradients of convolutions by their weights: D[O, R S C], OHWI, of the gradient by the places,
// NHWC, and what the window sees of the image, NHWC. The result has few tiles, and the sums are
// long: blocks share a tile along K.
#pragma once

#include <cutlass/conv/kernel/default_conv2d_wgrad.h>
#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/conv_kernel_sm80.cuh"

namespace tessera::cutlass {

// Blocks of a tile leave their sums in the workspace, and the last one to come adds them, in the
// order of K whoever that is, so that results do not differ from run to run.
template <class Mma, class Epilogue, class Swizzle>
struct SplitConvKernel : ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kWgrad> {
  using Base = ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kWgrad>;
  using typename Base::Sums;

  // Sums of a thread at once: 16 bytes.
  using Vector = ::cutlass::AlignedArray<float, 4>;
  static constexpr int kVectors = Sums::kElements / Vector::kElements;
  static_assert(std::is_same_v<typename Sums::Element, float> &&
                Sums::kElements % Vector::kElements == 0);

  struct Params : Base::Params {
    Vector* parts;     // [tile, part of K, vector, thread]
    int32_t* arrived;  // by tile: blocks that have left theirs
  };
  struct SharedStorage {
    typename Base::SharedStorage of_block;
    int32_t arrived;
  };

  // Of the workspace. What counts is behind the sums.
  static int64_t part_bytes(const GemmCoord& grid) {
    return grid.k() < 2 ? 0
                        : int64_t(grid.product()) * kVectors * Base::kThreadCount * sizeof(Vector);
  }
  static int64_t counter_bytes(const GemmCoord& grid) {
    return grid.k() < 2 ? 0 : int64_t(grid.m()) * grid.n() * sizeof(int32_t);
  }

  // False for all blocks of a tile but one, which then has all its sums.
  static CUTLASS_DEVICE bool join(const Params& p, const GemmCoord& tile, SharedStorage& shared,
                                  Sums& sums) {
    const int number = tile.m() + tile.n() * p.grid.m(), splits = p.grid.k();
    constexpr int kStep = Base::kThreadCount;
    Vector* parts = p.parts + int64_t(number) * splits * kVectors * kStep + threadIdx.x;
    auto* own = reinterpret_cast<Vector*>(&sums);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < kVectors; ++i) parts[(tile.k() * kVectors + i) * kStep] = own[i];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) shared.arrived = atomicAdd(p.arrived + number, 1);
    __syncthreads();
    if (shared.arrived + 1 < splits) return false;
    __threadfence();
    sums.clear();
    for (int part = 0; part < splits; ++part) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < kVectors; ++i) {
        const float4 of_part =
            __ldcg(reinterpret_cast<const float4*>(parts + (part * kVectors + i) * kStep));
        sums[4 * i] += of_part.x;
        sums[4 * i + 1] += of_part.y;
        sums[4 * i + 2] += of_part.z;
        sums[4 * i + 3] += of_part.w;
      }
    }
    return true;
  }

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    GemmCoord tile;
    if (!Base::find_tile(p, tile)) return;
    alignas(sizeof(Vector)) Sums sums;
    sums.clear();
    Base::multiply(p, tile, shared.of_block.main_loop, sums);
    if (p.grid.k() > 1 && !join(p, tile, shared, sums)) return;
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
    const int64_t parts = Kernel::part_bytes(grid), counters = Kernel::counter_bytes(grid);
    if (uint64_t(parts + counters) > call->workspace_bytes) {
      return failed(call, code, "its workspace is too small");
    }
    auto* arrived = static_cast<char*>(call->workspace) + parts;
    if (counters > 0) {
      const cudaError_t status =
          cudaMemsetAsync(arrived, 0, counters, static_cast<cudaStream_t>(call->stream));
      if (status != cudaSuccess) return failed(call, code, cudaGetErrorString(status));
    }
    const typename Kernel::Params params{
        Kernel::params_of(size, grid, g.a.data, g.b.data,
                          Behind::Tree::arguments(g, typename Function::Positions{})),
        static_cast<typename Kernel::Vector*>(call->workspace),
        reinterpret_cast<int32_t*>(arrived)};
    return launch_conv<Kernel, typename Problem::D>(code, call, params);
  }
};

}  // namespace tessera::cutlass
