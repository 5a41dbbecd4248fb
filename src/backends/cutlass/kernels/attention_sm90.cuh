// SPDX-License-Identifier: Apache-2.0
// Attention on Hopper in one kernel, from the collectives of CUTLASS's example 88: scores and
// probabilities stay in registers. What is added here: a mask, a scale that the caller gives, rows
// of keys that fill no tile, and programmatic dependent launch. TMA reads zeros behind narrow heads
// and writes nothing there.
#pragma once

#define CUTLASS_ENABLE_GDC_FOR_SM90 1

#include <cmath>
#include <type_traits>

#include <cute/tensor.hpp>
#include <cutlass/arch/grid_dependency_control.h>
#include <cutlass/cutlass.h>
#include <cutlass/kernel_hardware_info.h>

#include "backends/cutlass/kernels/attention.h"
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

using ProblemShape = cute::tuple<int, int, int, int, int>;        // batch, head, query, key, width
using HeadStrides = cute::tuple<int, _1, cute::tuple<int, int>>;  // row, element, (batch, head)

// Scores of a block as a thread has them: pairs of keys beside each other, eight keys apart, each
// in two rows that are eight apart; the last of them is the rightmost. `index` tells row and key.
template <class Scores, class Index>
CUTLASS_DEVICE int last_key(const Scores& scores, const Index& index) {
  return cute::get<1>(index(cute::size(scores) - 1));
}
template <class Scores, class Index, class IsOut>
CUTLASS_DEVICE void cut_off(Scores& scores, const Index& index, const IsOut& is_out) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < cute::size(scores); ++i) {
    if (is_out(cute::get<0>(index(i)), cute::get<1>(index(i)))) scores(i) = -INFINITY;
  }
}

// What is done to scores before the softmax scales them: keys behind the last one, and with a
// causal mask those behind the query, are out. Queries and keys begin at the same position.
template <bool kIsCausal>
struct WithoutMask : std::conditional_t<kIsCausal, fmha::collective::CausalFusion,
                                        fmha::collective::DefaultFusion> {
  template <class Scores, class Index, class Problem>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index, const Problem& problem) {
    const int keys = cute::get<3>(problem), last = last_key(scores, index);
    if constexpr (kIsCausal) {
      if (last <= cute::get<0>(index(0))) return;
      cut_off(scores, index, [](int row, int key) { return key > row; });
    } else if (last >= keys) {
      cut_off(scores, index, [keys](int, int key) { return key >= keys; });
    }
  }
};

template <class Element>
constexpr bool kChooses = std::is_same_v<Element, uint8_t>;  // a mask of bytes
// Sums with scores are this number itself, and its products are exact: where it hides all keys of a
// row, they have equal shares.
constexpr float kAllHide = -0x1p100f;

// The mask of a block of queries as a thread goes through it, one block of keys after the other;
// the sizes are the base, so that it goes through the collective. What the next block needs is
// loaded one block ahead. kRows is 1 where all queries have the same mask, else 2.
template <class Element, int kRows, int kBlockKeys>
struct MaskedProblem : ProblemShape {
  using Pair = ::cutlass::AlignedArray<Element, 2>;
  static constexpr int kPairs = kBlockKeys / 8;

  const Element* rows[kRows];
  float inverse_scale, hidden;
  uint8_t seen;
  mutable Pair next[kRows][kPairs];

  // `key` is the thread's first of the block. There is an even number of keys.
  CUTLASS_DEVICE void fetch(int key) const {
    CUTLASS_PRAGMA_UNROLL
    for (int p = 0; p < kPairs; ++p) {
      const bool inside = key + 8 * p < cute::get<3>(*this);
      CUTLASS_PRAGMA_UNROLL
      for (int r = 0; r < kRows; ++r) {
        next[r][p] = inside ? *reinterpret_cast<const Pair*>(rows[r] + key + 8 * p) : Pair{};
      }
    }
  }
  // Does the block's mask leave all scores as they are?
  CUTLASS_DEVICE bool is_neutral() const {
    using Bits = std::conditional_t<sizeof(Pair) == 2, uint16_t,
                                    std::conditional_t<sizeof(Pair) == 4, uint32_t, uint64_t>>;
    constexpr Bits kCounts = sizeof(Pair) == 2   ? Bits(0xffff)  // of floats all but the signs
                             : sizeof(Pair) == 4 ? Bits(0x7fff7fff)
                                                 : Bits(0x7fffffff7fffffff);
    const Bits neutral = kChooses<Element> ? Bits(seen * 0x0101) : Bits(0);
    Bits bits = 0;
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < kRows; ++r) {
      CUTLASS_PRAGMA_UNROLL
      for (int p = 0; p < kPairs; ++p) {
        bits |= reinterpret_cast<const Bits&>(next[r][p]) ^ neutral;
      }
    }
    return (bits & kCounts) == 0;
  }
  // Masks of 16 bits are floats after the division by the scale, and so is the sum of two. The
  // smallest of float32 is not: what is finite must not become infinite, which means no key at all.
  CUTLASS_DEVICE float masked(float score, Element mask, bool is_future) const {
    if constexpr (kChooses<Element>) {
      return (mask != 0) == (seen != 0) && !is_future ? score : hidden;
    } else {
      const float base = is_future ? hidden : score;
      if constexpr (sizeof(Element) == 2) {
        return fmaf(static_cast<float>(mask), inverse_scale, base);
      } else {
        const float added = mask * inverse_scale;
        return base + (added < kAllHide && mask > -INFINITY ? kAllHide : added);
      }
    }
  }
};

template <bool kIsCausal>
struct WithMask : fmha::collective::DefaultFusion {
  template <class Scores, class Index, class Element, int kRows, int kBlockKeys>
  CUTLASS_DEVICE void before_softmax(Scores& scores, const Index& index,
                                     const MaskedProblem<Element, kRows, kBlockKeys>& problem) {
    static_assert(decltype(cute::size(scores))::value == kBlockKeys / 2);
    const int last = last_key(scores, index);
    const bool sees_the_future = kIsCausal && last > cute::get<0>(index(0));
    if (sees_the_future || !problem.is_neutral()) {  // most blocks of padding masks are
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < cute::size(scores); ++i) {
        const bool is_future = kIsCausal && cute::get<1>(index(i)) > cute::get<0>(index(i));
        const Element mask = problem.next[kRows == 1 ? 0 : i / 2 % 2][i / 4][i % 2];
        scores(i) = problem.masked(scores(i), mask, is_future);
      }
    }
    problem.fetch(cute::get<1>(index(0)) + kBlockKeys);
    const int keys = cute::get<3>(problem);
    if (last >= keys) {
      cut_off(scores, index, [keys](int, int key) { return key >= keys; });
    }
  }
};

struct MaskParams {
  const void* mask;
  int batch_stride, head_stride, row_stride;
  float inverse_scale, hidden;
  uint8_t seen;
};

// A collective that hands the mask's place to the fusion.
template <class Base, class Element, int kRows>
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
  static CUTLASS_DEVICE MaskedProblem<Element, kRows, kBlockKeys> masked(const Block& block,
                                                                         const Params& params,
                                                                         const Problem& problem) {
    using Tile = typename Base::TileShapeQK;
    const auto mine = typename Base::TiledMmaQK{}
                          .get_thread_slice(int(threadIdx.x))
                          .partition_C(cute::make_identity_tensor(cute::take<0, 2>(Tile{})))(0);
    const auto [batch, head] = cute::get<2>(block);
    const auto* mask = static_cast<const Element*>(params.mask) +
                       int64_t(batch) * params.batch_stride + int64_t(head) * params.head_stride;
    MaskedProblem<Element, kRows, kBlockKeys> out{problem,       {},          params.inverse_scale,
                                                  params.hidden, params.seen, {}};
    for (int r = 0; r < kRows; ++r) {
      const int row = cute::get<0>(block) * cute::size<0>(Tile{}) + cute::get<0>(mine) + 8 * r;
      out.rows[r] = mask + int64_t(cute::min(row, cute::get<2>(problem) - 1)) * params.row_stride;
    }
    out.fetch(cute::get<1>(mine));
    return out;
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
// queries, 2: each has its own), Mask (the mask's element type; uint8_t: it chooses). Config:
// kQueries, kKeys of a tile, Schedule.
template <class Problem, class Config>
struct AttentionSm90 {
  using Element = typename Problem::Element;
  using Tile = Shape<Int<Config::kQueries>, Int<Config::kKeys>, Int<Problem::kWidth>>;
  static constexpr bool kHasMask = Problem::kMaskRows > 0;
  using Fusion =
      std::conditional_t<kHasMask, WithMask<Problem::kIsCausal>, WithoutMask<Problem::kIsCausal>>;
  using Plain = typename Config::Schedule::template Mainloop<Element, Tile, Fusion>;
  using Mainloop =
      std::conditional_t<kHasMask,
                         MaskedMainloop<Plain, typename Problem::Mask, Problem::kMaskRows>, Plain>;
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
      static_cast<MaskParams&>(params.mainloop) = {a.mask.data,
                                                   int(a.mask.batch_stride),
                                                   int(a.mask.head_stride),
                                                   int(a.mask.row_stride),
                                                   1.f / a.scale,
                                                   a.hidden,
                                                   a.seen};
    }
    return launch_sm90<Kernel, Shape<_1, _1, _1>>(code, call, params, a.dependent != 0);
  }
};

}  // namespace tessera::cutlass
