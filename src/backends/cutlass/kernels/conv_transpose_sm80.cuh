// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions, data NHWC by IHWO: what CUTLASS calls the gradient of a convolution by
// its image. The window is that convolution's, so that its image is the result here, and its places
// are the data.
#pragma once

#include <cutlass/conv/kernel/default_conv2d_dgrad.h>
#include <cutlass/conv/threadblock/threadblock_swizzle.h>
#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/conv_kernel_sm80.cuh"
#include "backends/cutlass/kernels/strided_rows_sm80.cuh"

namespace tessera::cutlass {

using ::cutlass::conv::StrideSupport;

template <class Problem, class Config, class Behind, class Swizzle, StrideSupport kStrides>
using DefaultTranspose = ::cutlass::conv::kernel::DefaultConv2dDgrad<
    typename Problem::A, ::cutlass::layout::TensorNHWC, typename Problem::B,
    ::cutlass::layout::TensorNHWC, typename Behind::Laid::Element, ::cutlass::layout::TensorNHWC,
    typename Problem::Sum, ::cutlass::arch::OpClassTensorOp, ::cutlass::arch::Sm80,
    typename Config::Tile, typename Config::Warp, typename Instruction<typename Problem::A>::Shape,
    typename Behind::OutputOp, Swizzle, Config::kStages, typename Config::Math,
    ::cutlass::conv::IteratorAlgorithm::kOptimized, kStrides, Problem::kAlignA, Problem::kAlignB>;

// Tiles that go through registers. CUTLASS's own class of them takes strided iterators for such
// that read 16 bytes at once.
template <class Access>
struct StridedTiles : Access {
  using Access::Access;
  using AccessType = typename Access::AccessType;
  using ThreadMap = typename Access::ThreadMap;
  using Fragment = ::cutlass::Array<typename Access::Element,
                                    ThreadMap::Iterations::kCount * ThreadMap::kElementsPerAccess>;

  CUTLASS_DEVICE void load(Fragment& fragment) {
    fragment.clear();
    this->set_iteration_index(0);
    auto* to = reinterpret_cast<AccessType*>(&fragment);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < ThreadMap::Iterations::kCount * Access::kAccessesPerVector; ++i) {
      ::cutlass::arch::global_load<AccessType, sizeof(AccessType)>(to[i], this->get(),
                                                                   this->valid());
      Access::operator++();
    }
  }
  // To the next tile.
  CUTLASS_DEVICE StridedTiles& operator++() {
    this->advance();
    return *this;
  }
};

// The loop over K of a strided kernel.
template <class Default, class Tile, int kStages>
struct StridedLoop {
  using Type = typename Default::Mma;
};
template <class Default, class Tile>
struct StridedLoop<Default, Tile, 2> {
  using Core = typename Default::MmaCore;
  using Type = ::cutlass::conv::threadblock::ImplicitGemmPipelined<
      Tile, StridedTiles<typename Default::IteratorA::TileAccessIterator>,
      typename Default::SmemIteratorA,
      StridedTiles<typename Default::IteratorB::TileAccessIterator>,
      typename Default::SmemIteratorB, typename Core::ElementC, ::cutlass::layout::TensorNHWC,
      typename Default::MmaPolicy>;
};

// Blocks go through the classes of places, all tiles of one before those of the next. Where no
// element of the window reaches a class, its sums are zero, and behind them is what stands there.
template <class Mma, class Epilogue, class Swizzle>
struct StridedTransposeKernel : ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kDgrad> {
  using Base = ConvKernel<Mma, Epilogue, Swizzle, ConvOperator::kDgrad>;
  using typename Base::SharedStorage;
  using typename Base::Sums;
  using typename Base::Tile;

  struct Params : Base::Params {
    ::cutlass::FastDivmod stride_y, stride_x;
  };
  template <class Arguments>
  static Params params_of(const ConvSize& size, const GemmCoord& grid, const void* a, const void* b,
                          const Arguments& arguments) {
    return {Base::params_of(size, grid, a, b, arguments), {size.stride_h}, {size.stride_w}};
  }
  static GemmCoord grid_of(const ConvSize& size) {
    return Swizzle::get_tiled_shape(ConvOperator::kDgrad, size, {Tile::kM, Tile::kN, Tile::kK}, 1);
  }

  // `r`, `s`: the first element of the window that reaches the class.
  static CUTLASS_DEVICE void multiply(const Params& p, const GemmCoord& tile, int r, int s,
                                      typename Mma::SharedStorage& shared, Sums& sums) {
    const int thread = threadIdx.x;
    typename Mma::IteratorA a(p.a_params, p.size, p.a, thread, p.stride_y, p.stride_x, r, s,
                              {tile.m() * Tile::kM, 0});
    typename Mma::IteratorB b(p.b_params, p.size, p.b, thread, r, s, {0, tile.n() * Tile::kN});
    Mma mma(shared, thread, ::cutlass::canonical_warp_idx_sync(), Base::lane());
    mma(p.iterations / p.iterations_per_channel * p.size.num_gemm_k_filter_positions(r, s), sums, a,
        b, sums);
  }

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    GemmCoord tile;
    if (!Base::find_tile(p, tile)) return;
    const ConvSize& size = p.size;
    const int tiles = ::cutlass::conv::strided_dgrad_tile_m_per_filter(size, Tile::kM);
    int r, s, y, x;
    p.stride_x(r, s, tile.m() / tiles);
    ::cutlass::conv::strided_dgrad_starting_coords(size, p.stride_y, p.stride_x, r, s, y, x);
    if (y >= size.H || x >= size.W) return;
    Sums sums;
    sums.clear();
    if (r < size.R && s < size.S) multiply(p, tile, r, s, shared.main_loop, sums);
    const ClassOfPlaces places{size.N, size.C, size.H, size.W, y, x, size.stride_h, size.stride_w};
    Base::finish(p, {tile.m() % tiles, tile.n(), 0}, places, shared.epilogue, sums);
  }
};

template <class Problem, class Config, class Function, bool kIsStrided>
struct TransposeKernel {
  using Behind = ConvEpilogue<Problem, Config, Function>;
  using Swizzle = ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
  using Base = DefaultTranspose<Problem, Config, Behind, Swizzle, StrideSupport::kUnity>;
  using Type = ConvKernel<typename Base::Mma, typename Behind::template Of<Base>, Swizzle,
                          ConvOperator::kDgrad>;
};
template <class Problem, class Config, class Function>
struct TransposeKernel<Problem, Config, Function, true> {
  using Behind = ConvEpilogue<Problem, Config, Function, StridedRows>;
  using Swizzle = ::cutlass::conv::threadblock::StridedDgradIdentityThreadblockSwizzle<8>;
  using Base = DefaultTranspose<Problem, Config, Behind, Swizzle, StrideSupport::kStrided>;
  using Type = StridedTransposeKernel<
      typename StridedLoop<Base, typename Config::Tile, Config::kStages>::Type,
      typename Behind::template Of<Base>, Swizzle>;
};

// As ConvSm80. The window moves by one, or kIsStrided.
template <class Problem, class Config, class Function>
struct ConvTransposeSm80 {
  using Chosen = TransposeKernel<Problem, Config, Function, Problem::kIsStrided>;
  using Kernel = typename Chosen::Type;
  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    const ConvSize size = conv_size(g.window, g.k / (g.window.rows * g.window.columns));
    return launch_conv<Kernel, typename Problem::D>(
        code, call,
        Kernel::params_of(size, Kernel::grid_of(size), g.a.data, g.b.data,
                          Chosen::Behind::Tree::arguments(g, typename Function::Positions{})));
  }
};

}  // namespace tessera::cutlass
