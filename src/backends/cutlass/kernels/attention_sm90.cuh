// SPDX-License-Identifier: Apache-2.0
// Attention on Hopper in one kernel, from the collectives of CUTLASS's example 88: scores and
// probabilities stay in registers. What is added here: a mask, a scale that the caller gives, rows
// of keys that fill no tile, and programmatic dependent launch.
#pragma once

#define CUTLASS_ENABLE_GDC_FOR_SM90 1

#include <cmath>

#include <cute/tensor.hpp>
#include <cutlass/arch/grid_dependency_control.h>
#include <cutlass/cutlass.h>
#include <cutlass/device_kernel.h>
#include <cutlass/kernel_hardware_info.h>

#include "backends/cutlass/kernels/attention.h"
#include "backends/cutlass/kernels/launch.cuh"
#include "collective/fmha_fusion.hpp"
#include "kernel/fmha_kernel_builder.hpp"

namespace tessera::cutlass {

namespace fmha = ::cutlass::fmha;
using cute::_0;
using cute::_1;
using cute::_64;
using cute::Int;
using cute::Shape;

using ProblemShape = cute::tuple<int, int, int, int, int>;        // batch, head, query, key, width
using HeadStrides = cute::tuple<int, _1, cute::tuple<int, int>>;  // row, element, (batch, head)

// What the mask of one block of queries is; the sizes go with it through the collective.
template <class Element>
struct MaskedProblem : ProblemShape {
  const Element* mask;  // of this batch and head
  int row_stride;
  float inverse_scale;
};

// Scores before the softmax scales them: what lies behind the last key is out, the mask comes in
// divided by the scale. A thread has pairs of keys beside each other, in two rows that are eight
// apart; the last of them is the rightmost.
template <class Scores, class Index>
CUTLASS_DEVICE bool is_whole(const Scores& scores, const Index& index, int keys) {
  return cute::get<1>(index(cute::size(scores) - 1)) < keys;
}
template <class Scores, class Index>
CUTLASS_DEVICE void cut_off(Scores& scores, const Index& index, int keys) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < cute::size(scores); ++i) {
    if (cute::get<1>(index(i)) >= keys) scores(i) = -INFINITY;
  }
}

struct WithoutMask : fmha::collective::DefaultFusion {
  template <class Scores, class Index, class Problem>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index, const Problem& problem) {
    const int keys = cute::get<3>(problem);
    if (!is_whole(scores, index, keys)) cut_off(scores, index, keys);
  }
};

struct WithMask : fmha::collective::DefaultFusion {
  template <class Scores, class Index, class Problem>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index, const Problem& problem) {
    const int keys = cute::get<3>(problem), last_query = cute::get<2>(problem) - 1;
    const int row = cute::get<0>(index(0)), key = cute::get<1>(index(0));
    const auto* upper = problem.mask + int64_t(cute::min(row, last_query)) * problem.row_stride;
    const auto* lower = problem.mask + int64_t(cute::min(row + 8, last_query)) * problem.row_stride;
    const bool whole = is_whole(scores, index, keys);
    using Pair =
        ::cutlass::AlignedArray<std::remove_const_t<std::remove_pointer_t<decltype(upper)>>, 2>;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(scores); i += 2) {
      const int down = cute::get<0>(index(i)) - row, across = cute::get<1>(index(i)) - key;
      if (!whole && key + across >= keys) continue;  // there is an even number of keys
      const auto* at = (down == 0 ? upper : lower) + key + across;
      const Pair mask = *reinterpret_cast<const Pair*>(at);
      // -65504 / scale is still a float, and the sum of two such masks is no infinity.
      scores(i) = fmaf(static_cast<float>(mask[0]), problem.inverse_scale, scores(i));
      scores(i + 1) = fmaf(static_cast<float>(mask[1]), problem.inverse_scale, scores(i + 1));
    }
    if (!whole) cut_off(scores, index, keys);
  }
};

struct MaskParams {
  const void* mask;
  int batch_stride, head_stride, row_stride;
  float inverse_scale;
};

// A collective that hands the mask's place to the fusion.
template <class Base, class Element>
struct MaskedMainloop : Base {
  struct Params : Base::Params, MaskParams {};

  template <class Problem>
  static Params to_underlying_arguments(const Problem& problem,
                                        const typename Base::Arguments& args, void* workspace) {
    return Params{Base::to_underlying_arguments(problem, args, workspace), {}};
  }

  template <class Block, class Problem>
  static CUTLASS_DEVICE MaskedProblem<Element> masked(const Block& block, const Params& params,
                                                      const Problem& problem) {
    const auto [batch, head] = cute::get<2>(block);
    const auto* mask = static_cast<const Element*>(params.mask) +
                       int64_t(batch) * params.batch_stride + int64_t(head) * params.head_stride;
    return {problem, mask, params.row_stride, params.inverse_scale};
  }

  // The kernel without warp specialisation.
  template <class Block, class Problem, class... Rest>
  CUTLASS_DEVICE auto compute(int rank_in_cluster, const Block& block, const Params& params,
                              const Problem& problem, Rest&&... rest) {
    return Base::compute(rank_in_cluster, block, params, masked(block, params, problem),
                         static_cast<Rest&&>(rest)...);
  }
  // The kernels with it: the group of warps has a block of its own.
  template <class Block, class Problem, class... Rest>
  CUTLASS_DEVICE auto compute(const Block& block, const Block& group_block, const Params& params,
                              const Problem& problem, Rest&&... rest) {
    return Base::compute(block, group_block, params, masked(block, params, problem),
                         static_cast<Rest&&>(rest)...);
  }
};

// Waits for the kernel before it, and lets the one behind it start, before anything else.
template <class Base>
struct DependentKernel : Base {
  CUTLASS_DEVICE void operator()(const typename Base::Params& params, char* shared) {
    ::cutlass::arch::wait_on_dependent_grids();
    ::cutlass::arch::launch_dependent_grids();
    Base::operator()(params, shared);
  }
};

// Whose are the rows of a block: one group of warps that loads for itself, or two that a third one
// loads for, persistent.
struct SelfLoading {
  template <class Element, class Tile, class Fusion>
  using Mainloop = fmha::collective::FmhaMainloopTma<Element, float, Tile, Fusion>;
  template <class Mainloop, class Epilogue>
  using Kernel = fmha::kernel::FmhaKernelTma<Mainloop, Epilogue>;
};
struct PersistentPair {
  using Persistent = fmha::kernel::Option<fmha::kernel::Tag::kIsPersistent, ::cute::true_type>;
  using SeparateQ = fmha::kernel::Option<fmha::kernel::Tag::kLoadsQSeparately, ::cute::true_type>;
  template <class Element, class Tile, class Fusion>
  using Mainloop =
      fmha::collective::FmhaMainloopTmaWarpSpecialized<Element, float, float, Tile, HeadStrides,
                                                       HeadStrides, HeadStrides, Fusion, Persistent,
                                                       SeparateQ>;
  template <class Mainloop, class Epilogue>
  using Kernel = fmha::kernel::FmhaKernelTmaWarpSpecialized<
      Mainloop, Epilogue, fmha::kernel::PersistentTileScheduler, Persistent, SeparateQ>;
};

// Problem: Element, kWidth (of a head), kHasMask, Mask (the mask's element type). Config: kQueries,
// kKeys of a tile, Schedule.
template <class Problem, class Config>
struct AttentionSm90 {
  using Element = typename Problem::Element;
  using Tile = Shape<Int<Config::kQueries>, Int<Config::kKeys>, Int<Problem::kWidth>>;
  using Fusion = std::conditional_t<Problem::kHasMask, WithMask, WithoutMask>;
  using Plain = typename Config::Schedule::template Mainloop<Element, Tile, Fusion>;
  using Mainloop =
      std::conditional_t<Problem::kHasMask, MaskedMainloop<Plain, typename Problem::Mask>, Plain>;
  using Epilogue = fmha::collective::FmhaFwdEpilogue<Element, float, typename Plain::TileShapePV>;
  using Kernel = DependentKernel<typename Config::Schedule::template Kernel<Mainloop, Epilogue>>;

  static HeadStrides strides_of(const Heads& x) {
    return cute::make_stride(int(x.row_stride), _1{},
                             cute::make_stride(int(x.batch_stride), int(x.head_stride)));
  }

  static int32_t run(const char* name, const tessera_call* call, const AttentionArguments& a) {
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                           call->device.device_id);
    // The kernels store logarithms of sums, which nobody reads: all heads into one row.
    const auto scratch_strides = cute::make_stride(_1{}, cute::make_stride(0, 0));
    typename Kernel::Arguments args{
        {int(a.batch), int(a.heads), int(a.queries), int(a.keys), Problem::kWidth},
        {static_cast<const Element*>(a.q.data), strides_of(a.q),
         static_cast<const Element*>(a.k.data), strides_of(a.k),
         static_cast<const Element*>(a.v.data), strides_of(a.v)},
        {static_cast<Element*>(a.o.data), strides_of(a.o), static_cast<float*>(call->workspace),
         scratch_strides},
        {call->device.device_id, multiprocessors}};
    if (!Kernel::can_implement(args)) {
      return failed(call, name, "the sizes or strides are not what the kernel was compiled for");
    }
    typename Kernel::Params params = Kernel::to_underlying_arguments(args, nullptr);
    params.mainloop.scale_softmax = a.scale;
    params.mainloop.scale_softmax_log2 = a.scale * 1.44269504f;
    if constexpr (Problem::kHasMask) {
      static_cast<MaskParams&>(params.mainloop) = {a.mask.data, int(a.mask.batch_stride),
                                                   int(a.mask.head_stride), int(a.mask.row_stride),
                                                   1.f / a.scale};
    }
    return launch(name, call, params, a.dependent != 0);
  }

 private:
  static int32_t launch(const char* name, const tessera_call* call,
                        const typename Kernel::Params& params, bool is_dependent) {
    constexpr int kSharedBytes = Kernel::SharedStorageSize;
    auto* kernel = ::cutlass::device_kernel<Kernel>;
    cudaError_t status =
        cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                             cudaFuncAttributeMaxDynamicSharedMemorySize, kSharedBytes);
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = Kernel::get_grid_shape(params);
    config.blockDim = Kernel::get_block_shape();
    config.dynamicSmemBytes = kSharedBytes;
    config.stream = static_cast<cudaStream_t>(call->stream);
    config.attrs = &early;
    config.numAttrs = is_dependent ? 1 : 0;
    if (status == cudaSuccess) status = cudaLaunchKernelEx(&config, kernel, params);
    if (status == cudaSuccess) return 0;
    return failed(call, name, cudaGetErrorString(status));
  }
};

}  // namespace tessera::cutlass
