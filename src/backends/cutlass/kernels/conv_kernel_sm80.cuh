// SPDX-License-Identifier: Apache-2.0
// What convolutions and their gradients by mma.sync are made of: CUTLASS's loop over K, whose
// iterators gather what a window sees, and an epilogue of visitors, which CUTLASS has for products
// only.
#pragma once

#include <cutlass/cutlass.h>
// The headers of the visitors do not include what they use.
#include <cutlass/conv/conv2d_problem_size.h>
#include <cutlass/conv/convolution.h>
#include <cutlass/epilogue/thread/linear_combination.h>
#include <cutlass/epilogue/threadblock/default_epilogue_tensor_op.h>
#include <cutlass/epilogue/threadblock/epilogue_with_visitor_callbacks.h>
#include <cutlass/gemm/gemm.h>
#include <cutlass/gemm/threadblock/threadblock_swizzle.h>

#include "backends/cutlass/kernels/epilogue_sm80.cuh"
#include "backends/cutlass/kernels/launch_sm80.cuh"

namespace tessera::cutlass {

using ConvSize = ::cutlass::conv::Conv2dProblemSize;
using ConvOperator = ::cutlass::conv::Operator;
using ::cutlass::gemm::GemmCoord;

// Of the convolution from the window's image to `channels` at each of its places. What gradients
// compute is said by it, too. `splits`: of a sum along K.
inline ConvSize conv_size(const Window& w, int64_t channels, int splits = 1) {
  return {w.batch,       w.height,      w.width,       w.channels,
          int(channels), w.rows,        w.columns,     w.out_height,
          w.out_width,   w.padding[0],  w.padding[1],  w.strides[0],
          w.strides[1],  w.dilation[0], w.dilation[1], ::cutlass::conv::Mode::kCrossCorrelation,
          splits};
}

// The epilogue, and what CUTLASS's defaults want to know of one. Rows: see epilogue_sm80.cuh.
template <class Problem, class Config, class Function, class Rows = PlainRows>
struct ConvEpilogue {
  using Laid = LaidOut<Problem>;
  using ThreadMap = visitors::OutputTileThreadLayout<typename Config::Tile, typename Config::Warp,
                                                     typename Laid::Element, Laid::kAccess, 1>;
  using Tree = VisitorTree<Function, typename Problem::Sum, typename Problem::D, ThreadMap,
                           typename Function::Inputs, Rows>;
  using OutputOp =
      ::cutlass::epilogue::thread::LinearCombination<typename Laid::Element, Laid::kAccess,
                                                     typename Problem::Sum, float>;
  template <class Default>
  using Of =
      visitors::EpilogueWithVisitorCallbacks<typename Default::Epilogue, typename Tree::Type, 1>;
};

template <class Mma_, class Epilogue_, class Swizzle_, ConvOperator kOperator>
struct ConvKernel {
  using Mma = Mma_;
  using Epilogue = Epilogue_;
  using Swizzle = Swizzle_;
  using Callbacks = typename Epilogue::FusionCallbacks;
  using Tile = typename Mma::Shape;
  using Sums = typename Mma::FragmentC;
  using IteratorA = typename Mma::IteratorA;
  using IteratorB = typename Mma::IteratorB;
  static constexpr int kThreadCount = 32 * Mma::WarpCount::kCount;

  struct Params {
    ConvSize size;
    GemmCoord grid;
    int swizzle_log_tile;
    int iterations, iterations_per_channel;
    typename IteratorA::Params a_params;
    typename IteratorB::Params b_params;
    const typename IteratorA::Element* a;
    const typename IteratorB::Element* b;
    cute::Shape<int32_t, int32_t, int32_t> shape;
    typename Callbacks::Params callbacks;
  };
  union SharedStorage {
    typename Mma::SharedStorage main_loop;
    typename Epilogue::SharedStorage epilogue;
  };

  // `grid`: of tiles.
  static Params params_of(const ConvSize& size, const GemmCoord& grid, const void* a, const void* b,
                          const typename Callbacks::Arguments& arguments) {
    namespace conv = ::cutlass::conv;
    const auto product = conv::implicit_gemm_problem_size(kOperator, size);
    const auto a_layout =
        IteratorA::Layout::packed(conv::implicit_gemm_tensor_a_extent(kOperator, size));
    const auto b_layout =
        IteratorB::Layout::packed(conv::implicit_gemm_tensor_b_extent(kOperator, size));
    constexpr auto kAlgorithm = IteratorA::kIteratorAlgorithm;
    return {size,
            grid,
            Swizzle().get_log_tile(grid),
            conv::implicit_gemm_k_iterations(kOperator, Tile::kK, size, kAlgorithm),
            conv::implicit_gemm_k_iterations_per_channel(kOperator, size, kAlgorithm),
            IteratorA::getParams(size, a_layout),
            typename IteratorB::Params(size, b_layout),
            static_cast<const typename IteratorA::Element*>(a),
            static_cast<const typename IteratorB::Element*>(b),
            {product.m(), product.n(), 1},
            Callbacks::to_underlying_arguments(product, arguments, nullptr)};
  }

  // Of the product that is as large as the convolution, in `size.split_k_slices` along K.
  static GemmCoord grid_of(const ConvSize& size) {
    return Swizzle::get_tiled_shape(::cutlass::conv::implicit_gemm_problem_size(kOperator, size),
                                    {Tile::kM, Tile::kN, Tile::kK}, size.split_k_slices);
  }

  // Null where the kernel can compute it, with results of type D.
  template <class D>
  static const char* why_not(const ConvSize& size) {
    namespace conv = ::cutlass::conv;
    constexpr size_t kMostBytes = size_t(1) << 31;  // places are of 32 bits
    const size_t a = conv::implicit_gemm_tensor_a_size(kOperator, size),
                 b = conv::implicit_gemm_tensor_b_size(kOperator, size),
                 d = conv::implicit_gemm_tensor_c_size(kOperator, size);
    if (a * sizeof(typename IteratorA::Element) >= kMostBytes ||
        b * sizeof(typename IteratorB::Element) >= kMostBytes || d * sizeof(D) >= kMostBytes) {
      return "a tensor has 2 GiB or more";
    }
    const bool is_suited = IteratorA::can_implement(size) == ::cutlass::Status::kSuccess &&
                           IteratorB::can_implement(size) == ::cutlass::Status::kSuccess;
    return is_suited ? nullptr : "the sizes are not what the kernel was compiled for";
  }

  // The block's tile; false where there is none.
  static CUTLASS_DEVICE bool find_tile(const Params& p, GemmCoord& tile) {
    tile = Swizzle().get_tile_offset(p.swizzle_log_tile);
    return tile.m() < p.grid.m() && tile.n() < p.grid.n();
  }

  static CUTLASS_DEVICE int lane() { return threadIdx.x % 32; }

  static CUTLASS_DEVICE void multiply(const Params& p, const GemmCoord& tile,
                                      typename Mma::SharedStorage& shared, Sums& sums) {
    const int thread = threadIdx.x;
    IteratorA a(p.a_params, p.size, p.a, thread, {tile.m() * Tile::kM, tile.k() * Tile::kK});
    IteratorB b(p.b_params, p.size, p.b, thread, {tile.k() * Tile::kK, tile.n() * Tile::kN});
    Mma mma(shared, thread, ::cutlass::canonical_warp_idx_sync(), lane());
    mma(p.iterations, sums, a, b, sums, p.iterations_per_channel);
  }

  // Shape: what the visitors take for the result's, of which `tile` is one.
  template <class Shape>
  static CUTLASS_DEVICE void finish(const Params& p, const GemmCoord& tile, const Shape& shape,
                                    typename Epilogue::SharedStorage& shared, const Sums& sums) {
    const int thread = threadIdx.x;
    Epilogue epilogue(p.callbacks, shared, thread, ::cutlass::canonical_warp_idx_sync(), lane());
    epilogue(sums, tile, shape, thread);
  }

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    GemmCoord tile;
    if (!find_tile(p, tile)) return;
    Sums sums;
    sums.clear();
    multiply(p, tile, shared.main_loop, sums);
    finish(p, tile, p.shape, shared.epilogue, sums);
  }
};

// Launches a kernel of that kind, whose results are of type D.
template <class Kernel, class D>
int32_t launch_conv(KernelCode& code, const tessera_call* call,
                    const typename Kernel::Params& params) {
  if (const char* why = Kernel::template why_not<D>(params.size)) return failed(call, code, why);
  return launch_sm80<Kernel>(code, call, params, Kernel::Swizzle::get_grid_shape(params.grid));
}

}  // namespace tessera::cutlass
