// SPDX-License-Identifier: Apache-2.0
// Attention on Hopper in one kernel, from the collectives of CUTLASS's example 88: scores and
// probabilities stay in registers. What is added here: a mask, a scale that the caller gives, rows
// of keys that fill no tile, and programmatic dependent launch. TMA reads zeros behind narrow heads
// and writes nothing there.
#pragma once

#define CUTLASS_ENABLE_GDC_FOR_SM90 1

#include <type_traits>

#include <cute/tensor.hpp>
#include <cutlass/arch/grid_dependency_control.h>
#include <cutlass/cutlass.h>
#include <cutlass/kernel_hardware_info.h>

#include "backends/cutlass/kernels/attention_masks.cuh"
#include "backends/cutlass/kernels/launch_sm90.cuh"
#include "collective/fmha_fusion.hpp"
#include "kernel/fmha_kernel_builder.hpp"

namespace tessera::cutlass {

namespace fmha = ::cutlass::fmha;
using cute::_0;
using cute::_1;
using cute::_64;
using cute::Int;
using cute::Shape;

using HeadStrides = cute::tuple<int, _1, cute::tuple<int, int>>;  // row, element, (batch, head)

// What is done to scores before the softmax scales them; blocks that nobody sees are passed over.
template <bool kIsCausal>
struct WithoutMask : std::conditional_t<kIsCausal, fmha::collective::CausalFusion,
                                        fmha::collective::DefaultFusion> {
  template <class Scores, class Index, class Problem>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index, const Problem& problem) {
    cut_off_outside<kIsCausal>(scores, index, problem);
  }
};
template <bool kIsCausal>
struct WithMask : fmha::collective::DefaultFusion {
  template <class Scores, class Index, class Problem>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index, const Problem& problem) {
    mask_scores<kIsCausal>(scores, index, problem);
  }
};

// A collective that hands the mask's place to the fusion.
template <class Base, class Element, int kRows, bool kIsOdd>
struct MaskedMainloop : Base {
  struct Params : Base::Params, MaskParams {};
  static constexpr int kBlockKeys = cute::size<1>(typename Base::TileShapeQK{});

  template <class Problem>
  static Params to_underlying_arguments(const Problem& problem,
                                        const typename Base::Arguments& args, void* workspace) {
    return Params{Base::to_underlying_arguments(problem, args, workspace), {}};
  }

  // `block` is that of the thread's group of warps.
  template <class Block, class Problem>
  static CUTLASS_DEVICE MaskedProblem<Element, kRows, kIsOdd, kBlockKeys> masked(
      const Block& block, const Params& params, const Problem& problem) {
    using Tile = typename Base::TileShapeQK;
    const auto mine = typename Base::TiledMmaQK{}
                          .get_thread_slice(int(threadIdx.x))
                          .partition_C(cute::make_identity_tensor(cute::take<0, 2>(Tile{})))(0);
    const auto [batch, head] = cute::get<2>(block);
    return {problem,
            params,
            int(batch),
            int(head),
            int(cute::get<0>(block) * cute::size<0>(Tile{}) + cute::get<0>(mine)),
            int(cute::get<1>(mine))};
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
    return Base::compute(block, group_block, params, masked(group_block, params, problem),
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

// Problem: Element, kWidth (the widest head), kIsCausal, kMaskRows (0: no mask, 1: the same for all
// queries, 2: each has its own), Mask (the mask's element type; uint8_t: it chooses), kIsOdd (so is
// the number of keys of a mask). Config: kQueries, kKeys of a tile, Schedule.
template <class Problem, class Config>
struct AttentionSm90 {
  using Element = typename Problem::Element;
  using Tile = Shape<Int<Config::kQueries>, Int<Config::kKeys>, Int<Problem::kWidth>>;
  static constexpr bool kHasMask = Problem::kMaskRows > 0;
  using Fusion =
      std::conditional_t<kHasMask, WithMask<Problem::kIsCausal>, WithoutMask<Problem::kIsCausal>>;
  using Plain = typename Config::Schedule::template Mainloop<Element, Tile, Fusion>;
  using Mainloop = std::conditional_t<
      kHasMask, MaskedMainloop<Plain, typename Problem::Mask, Problem::kMaskRows, Problem::kIsOdd>,
      Plain>;
  using Epilogue = fmha::collective::FmhaFwdEpilogue<Element, float, typename Plain::TileShapePV>;
  using Kernel = DependentKernel<typename Config::Schedule::template Kernel<Mainloop, Epilogue>>;

  static HeadStrides strides_of(const Heads& x) {
    return cute::make_stride(int(x.row_stride), _1{},
                             cute::make_stride(int(x.batch_stride), int(x.head_stride)));
  }

  using Entry = EntrySm90<Kernel>;

  static int32_t run(KernelCode& code, const tessera_call* call, const AttentionArguments& a) {
    int multiprocessors = 0;
    cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount,
                           call->device.device_id);
    // The kernels store logarithms of sums, which nobody reads: all heads into one row.
    const auto scratch_strides = cute::make_stride(_1{}, cute::make_stride(0, 0));
    typename Kernel::Arguments args{
        {int(a.batch), int(a.heads), int(a.queries), int(a.keys), int(a.width)},
        {static_cast<const Element*>(a.q.data), strides_of(a.q),
         static_cast<const Element*>(a.k.data), strides_of(a.k),
         static_cast<const Element*>(a.v.data), strides_of(a.v)},
        {static_cast<Element*>(a.o.data), strides_of(a.o), static_cast<float*>(call->workspace),
         scratch_strides},
        {call->device.device_id, multiprocessors}};
    typename Kernel::Params params = Kernel::to_underlying_arguments(args, nullptr);
    params.mainloop.scale_softmax = a.scale;
    params.mainloop.scale_softmax_log2 = a.scale * 1.44269504f;
    if constexpr (kHasMask) {
      static_cast<MaskParams&>(params.mainloop) = mask_params(a);
    }
    return launch_sm90<Kernel, Shape<_1, _1, _1>>(code, call, params, a.dependent != 0);
  }
};

}  // namespace tessera::cutlass
