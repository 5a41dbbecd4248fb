// SPDX-License-Identifier: Apache-2.0
// What hides keys between scores and softmax, for kernels of any architecture. A thread has scores
// of a block as accumulators of mma.sync and of wgmma: pairs of keys beside each other, eight keys
// apart, each in two rows that are eight apart; the last of them is the rightmost. `index` tells
// row and key of each.
#pragma once

#include <cmath>
#include <type_traits>

#include <cute/tensor.hpp>
#include <cutlass/array.h>
#include <cutlass/cutlass.h>

#include "backends/cutlass/kernels/attention.h"

namespace tessera::cutlass {

using ProblemShape = cute::tuple<int, int, int, int, int>;  // batch, head, query, key, width

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

// Keys behind the last one, and with a causal mask those behind the query, are out. Queries and
// keys begin at the same position.
template <bool kIsCausal, class Scores, class Index, class Problem>
CUTLASS_DEVICE void cut_off_outside(Scores& scores, const Index& index, const Problem& problem) {
  const int keys = cute::get<3>(problem), last = last_key(scores, index);
  if constexpr (kIsCausal) {
    if (last <= cute::get<0>(index(0))) return;
    cut_off(scores, index, [](int row, int key) { return key > row; });
  } else if (last >= keys) {
    cut_off(scores, index, [keys](int, int key) { return key >= keys; });
  }
}

template <class Element>
constexpr bool kChooses = std::is_same_v<Element, uint8_t>;  // a mask of bytes
// Sums with scores are this number itself, and its products are exact: where it hides all keys of a
// row, they have equal shares.
constexpr float kAllHide = -0x1p100f;

struct MaskParams {
  const void* mask;
  int batch_stride, head_stride, row_stride;
  float inverse_scale, hidden;
  uint8_t seen;
};

inline MaskParams mask_params(const AttentionArguments& a) {
  return {a.mask.data,
          int(a.mask.batch_stride),
          int(a.mask.head_stride),
          int(a.mask.row_stride),
          1.f / a.scale,
          a.hidden,
          a.seen};
}

// The mask of a block of queries as a thread goes through it, one block of keys after the other;
// the sizes are the base, so that it goes through collectives. What the next block needs is loaded
// one block ahead. kMaskRows is 1 where all queries have the same mask, else 2; where the number of
// keys is odd, no two elements lie where a pair may be read.
template <class Element, int kMaskRows, bool kIsOdd, int kKeys>
struct MaskedProblem : ProblemShape {
  using Pair = ::cutlass::AlignedArray<Element, 2>;
  static constexpr int kRows = kMaskRows, kBlockKeys = kKeys, kPairs = kBlockKeys / 8;

  const Element* rows[kRows];
  float inverse_scale, hidden;
  uint8_t seen;
  mutable Pair next[kRows][kPairs];

  MaskedProblem() = default;
  // `row` and `key` are the thread's first.
  CUTLASS_DEVICE MaskedProblem(const ProblemShape& problem, const MaskParams& params, int batch,
                               int head, int row, int key)
      : ProblemShape(problem),
        inverse_scale(params.inverse_scale),
        hidden(params.hidden),
        seen(params.seen) {
    const auto* mask = static_cast<const Element*>(params.mask) +
                       int64_t(batch) * params.batch_stride + int64_t(head) * params.head_stride;
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const int inside = cute::min(row + 8 * r, cute::get<2>(problem) - 1);
      rows[r] = mask + int64_t(inside) * params.row_stride;
    }
    fetch(key);
  }

  // `key` is the thread's first of the block. Whether a pair is inside is known before its place is
  // made, of a row's first one and a distance that is known: it takes no arithmetic so.
  CUTLASS_DEVICE void fetch(int key) const {
    const int keys = cute::get<3>(*this);
    CUTLASS_PRAGMA_UNROLL
    for (int p = 0; p < kPairs; ++p) {
      const bool is_inside = key + 8 * p < keys, has_second = key + 8 * p + 1 < keys;
      CUTLASS_PRAGMA_UNROLL
      for (int r = 0; r < kRows; ++r) {
        if constexpr (kIsOdd) {
          next[r][p] = Pair{};
          if (is_inside) next[r][p][0] = rows[r][key + 8 * p];
          if (has_second) next[r][p][1] = rows[r][key + 8 * p + 1];
        } else {
          next[r][p] = is_inside ? *reinterpret_cast<const Pair*>(rows[r] + key + 8 * p) : Pair{};
        }
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

// Keys behind the last one are out; the mask does what it does to the others.
template <bool kIsCausal, class Scores, class Index, class Problem>
CUTLASS_DEVICE void mask_scores(Scores& scores, const Index& index, const Problem& problem) {
  static_assert(decltype(cute::size(scores))::value == Problem::kBlockKeys / 2);
  const int last = last_key(scores, index);
  const bool sees_the_future = kIsCausal && last > cute::get<0>(index(0));
  if (sees_the_future || !problem.is_neutral()) {  // most blocks of padding masks are
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(scores); ++i) {
      const bool is_future = kIsCausal && cute::get<1>(index(i)) > cute::get<0>(index(i));
      const auto mask = problem.next[i / 2 % Problem::kRows][i / 4][i % 2];
      scores(i) = problem.masked(scores(i), mask, is_future);
    }
  }
  problem.fetch(cute::get<1>(index(0)) + Problem::kBlockKeys);
  const int keys = cute::get<3>(problem);
  if (last >= keys) {
    cut_off(scores, index, [keys](int, int key) { return key >= keys; });
  }
}

}  // namespace tessera::cutlass
