// SPDX-License-Identifier: Apache-2.0
// Convolutions whose channels TMA cannot read, or for devices without it: as gemm_sm80.cuh, with
// iterators that gather what the window sees.
#pragma once

#include <cutlass/cutlass.h>
// The headers of the visitors do not include what they use.
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/epilogue/threadblock/default_epilogue_tensor_op.h>
#include <cutlass/epilogue/threadblock/epilogue_with_visitor_callbacks.h>
#include <cutlass/gemm/gemm.h>

#include "backends/cutlass/kernels/epilogue_sm80.cuh"
#include "backends/cutlass/kernels/launch_sm80.cuh"

namespace tessera::cutlass {

// CUTLASS's convolution with an epilogue of visitors, which CUTLASS has for products only.
template <class Base, class Epilogue_>
struct ConvWithVisitor {
  using Mma = typename Base::Mma;
  using Epilogue = Epilogue_;
  using Callbacks = typename Epilogue::FusionCallbacks;
  using Swizzle = typename Base::ThreadblockSwizzle;
  using Tile = typename Mma::Shape;
  static constexpr int kThreadCount = Base::kThreadCount;
  static constexpr auto kFprop = ::cutlass::conv::Operator::kFprop;

  struct Params {
    ::cutlass::conv::Conv2dProblemSize size;
    ::cutlass::gemm::GemmCoord grid;
    int swizzle_log_tile;
    int iterations, iterations_per_channel;
    typename Mma::IteratorA::Params a_params;
    typename Mma::IteratorB::Params b_params;
    const typename Mma::IteratorA::Element* a;
    const typename Mma::IteratorB::Element* b;
    cute::Shape<int32_t, int32_t, int32_t> shape;
    typename Callbacks::Params callbacks;
  };
  union SharedStorage {
    typename Mma::SharedStorage main_loop;
    typename Epilogue::SharedStorage epilogue;
  };

  static Params params_of(const ::cutlass::conv::Conv2dProblemSize& size, const void* a,
                          const void* b, const typename Callbacks::Arguments& arguments) {
    using A = typename Mma::IteratorA;
    using B = typename Mma::IteratorB;
    const auto product = ::cutlass::conv::implicit_gemm_problem_size(kFprop, size);
    const auto a_layout = A::Layout::packed({size.N, size.H, size.W, size.C});
    const auto b_layout = B::Layout::packed({size.K, size.R, size.S, size.C});
    const Swizzle swizzle;
    const auto grid = swizzle.get_tiled_shape(product, {Tile::kM, Tile::kN, Tile::kK}, 1);
    return {
        size,
        grid,
        swizzle.get_log_tile(grid),
        ::cutlass::conv::implicit_gemm_k_iterations(kFprop, Tile::kK, size, A::kIteratorAlgorithm),
        ::cutlass::conv::implicit_gemm_k_iterations_per_channel(kFprop, size,
                                                                A::kIteratorAlgorithm),
        A::getParams(size, a_layout),
        typename B::Params(size, b_layout),
        static_cast<const typename A::Element*>(a),
        static_cast<const typename B::Element*>(b),
        {product.m(), product.n(), 1},
        Callbacks::to_underlying_arguments(product, arguments, nullptr)};
  }

  CUTLASS_DEVICE void operator()(const Params& p, SharedStorage& shared) {
    Swizzle swizzle;
    const auto tile = swizzle.get_tile_offset(p.swizzle_log_tile);
    if (p.grid.m() <= tile.m() || p.grid.n() <= tile.n()) return;
    const int thread = threadIdx.x, warp = ::cutlass::canonical_warp_idx_sync(),
              lane = threadIdx.x % 32;
    typename Mma::IteratorA a(p.a_params, p.size, p.a, thread, {tile.m() * Tile::kM, 0});
    typename Mma::IteratorB b(p.b_params, p.size, p.b, thread, {0, tile.n() * Tile::kN});
    Mma mma(shared.main_loop, thread, warp, lane);
    typename Mma::FragmentC sums;
    sums.clear();
    mma(p.iterations, sums, a, b, sums, p.iterations_per_channel);
    Epilogue epilogue(p.callbacks, shared.epilogue, thread, warp, lane);
    epilogue(sums, tile, p.shape, thread);
  }
};

// As GemmSm80. Where the window's channels are few, kHasFewChannels, steps along K cross its
// places; else a step has channels of one place.
template <class Problem, class Config, class Function>
struct ConvSm80 {
  using A = typename Problem::A;
  using B = typename Problem::B;
  using D = typename Problem::D;
  using Nhwc = ::cutlass::layout::TensorNHWC;
  using Iterators = ::cutlass::conv::IteratorAlgorithm;
  using Laid = LaidOut<Problem>;
  using ThreadMap = visitors::OutputTileThreadLayout<typename Config::Tile, typename Config::Warp,
                                                     typename Laid::Element, Laid::kAccess, 1>;
  using Tree =
      VisitorTree<Function, typename Problem::Sum, D, ThreadMap, typename Function::Inputs>;
  using Base = typename ::cutlass::conv::kernel::DefaultConv2dFprop<
      A, Nhwc, B, Nhwc, typename Laid::Element, Nhwc, typename Problem::Sum,
      ::cutlass::arch::OpClassTensorOp, ::cutlass::arch::Sm80, typename Config::Tile,
      typename Config::Warp, typename Instruction<A>::Shape,
      ::cutlass::epilogue::thread::LinearCombination<typename Laid::Element, Laid::kAccess,
                                                     typename Problem::Sum, float>,
      ::cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>, Config::kStages,
      typename Config::Math,
      Problem::kHasFewChannels ? Iterators::kFewChannels : Iterators::kOptimized,
      ::cutlass::conv::StrideSupport::kStrided, Problem::kAlignA, Problem::kAlignB>::Kernel;
  using Epilogue =
      ::cutlass::epilogue::threadblock::EpilogueWithVisitorCallbacks<typename Base::Epilogue,
                                                                     typename Tree::Type, 1>;
  using Kernel = ConvWithVisitor<Base, Epilogue>;

  static ::cutlass::conv::Conv2dProblemSize size_of(const GemmArguments& g) {
    const Window& w = g.window;
    return {w.batch,      w.height,      w.width,       w.channels,
            int(g.n),     w.rows,        w.columns,     w.out_height,
            w.out_width,  w.padding[0],  w.padding[1],  w.strides[0],
            w.strides[1], w.dilation[0], w.dilation[1], ::cutlass::conv::Mode::kCrossCorrelation};
  }

  using Entry = EntrySm80<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const GemmArguments& g) {
    const auto size = size_of(g);
    constexpr size_t kMostBytes = size_t(1) << 31;  // places are of 32 bits
    if (size.activation_size() * sizeof(A) >= kMostBytes ||
        size.filter_size() * sizeof(B) >= kMostBytes ||
        size.output_size() * sizeof(D) >= kMostBytes) {
      return failed(call, code, "a tensor has 2 GiB or more");
    }
    using ::cutlass::Status;
    if (Kernel::Mma::IteratorA::can_implement(size) != Status::kSuccess ||
        Kernel::Mma::IteratorB::can_implement(size) != Status::kSuccess) {
      return failed(call, code, "the sizes are not what the kernel was compiled for");
    }
    const auto params = Kernel::params_of(size, g.a.data, g.b.data,
                                          Tree::arguments(g, typename Function::Positions{}));
    return launch_sm80<Kernel>(code, call, params,
                               typename Kernel::Swizzle().get_grid_shape(params.grid));
  }
};

}  // namespace tessera::cutlass
