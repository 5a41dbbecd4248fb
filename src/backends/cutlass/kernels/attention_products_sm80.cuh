// SPDX-License-Identifier: Apache-2.0
// What attention_sm80.cuh multiplies with: mma.sync of 16 bits, and of tf32 for float32.
#pragma once

#include <type_traits>

#include <cute/algorithm/gemm.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/tensor.hpp>
#include <cutlass/array.h>
#include <cutlass/cutlass.h>
#include <cutlass/numeric_conversion.h>

namespace tessera::cutlass {

using cute::_1;
using cute::_2;
using cute::_4;
using cute::Int;
using cute::Layout;
using cute::Shape;
using cute::Stride;

// Two elements beside each other, which are converted, and stored, at once.
template <class Element>
using Pair = ::cutlass::AlignedArray<Element, 2>;
template <class Element>
CUTLASS_DEVICE Pair<Element> pair_of(float x, float y) {
  ::cutlass::Array<float, 2> both;
  both[0] = x, both[1] = y;
  Pair<Element> out;
  static_cast<::cutlass::Array<Element, 2>&>(out) =
      ::cutlass::NumericArrayConverter<Element, float, 2>::convert(both);
  return out;
}

// Of heads of 16 bits. Operand: as shared memory has it; kDepth: elements that an instruction sums.
template <class Instruction, class Element>
struct HalfProducts {
  using Atom = cute::MMA_Atom<Instruction>;
  using Operand = Element;
  static constexpr int kDepth = 16;

  template <class A, class B, class C>
  static CUTLASS_DEVICE void multiply(const A& a, const B& b, C&& c) {
    cute::gemm(Atom{}, a, b, c);
  }
  // Shares as the left factor, (MMA, M, N) of the scores' fragment as (MMA, M, K): the eights of
  // keys of two instructions are the halves of one's depth.
  template <class Scores>
  static CUTLASS_DEVICE auto left_factor(const Scores& scores) {
    constexpr int kM = cute::size<1>(Scores{}), kN = cute::size<2>(Scores{});
    auto out = cute::make_tensor<Element>(Shape<Shape<_2, _2, _2>, Int<kM>, Int<kN / 2>>{});
    CUTLASS_PRAGMA_UNROLL
    for (int n = 0; n < kN; ++n) {
      CUTLASS_PRAGMA_UNROLL
      for (int m = 0; m < kM; ++m) {
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < 4; i += 2) {
          reinterpret_cast<Pair<Element>&>(out(i + n % 2 * 4, m, n / 2)) =
              pair_of<Element>(scores(i, m, n), scores(i + 1, m, n));
        }
      }
    }
    return out;
  }
  // Values (keys, width) in shared memory as the right factor (width, keys).
  template <int kKeys, int kWidth, int kPitch>
  using ValuesLayout = Layout<Shape<Int<kWidth>, Int<kKeys>>, Stride<_1, Int<kPitch>>>;
  using ValuesCopy = cute::SM75_U16x8_LDSM_T;
};

// Of float32: by one product of tf32, or by three of the rounded factors and what is left of them,
// without that of what is left of both.
template <bool kEmulates>
struct FloatProducts {
  using Atom = cute::MMA_Atom<cute::SM80_16x8x8_F32TF32TF32F32_TN>;
  using Operand = ::cutlass::tfloat32_t;  // the bits of a float32 until it is multiplied
  static constexpr int kDepth = 8;

  template <class Factor>
  static CUTLASS_DEVICE auto rounded(const Factor& x) {
    using Converter =
        ::cutlass::NumericConverter<Operand, float,
                                    ::cutlass::FloatRoundStyle::round_half_ulp_truncate>;
    auto out = cute::make_fragment_like<Operand>(x);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(x); ++i) {
      out(i) = Converter::convert(reinterpret_cast<const float&>(x(i)));
    }
    return out;
  }
  template <class Factor, class Rounded>
  static CUTLASS_DEVICE auto rest(const Factor& x, const Rounded& rounded_x) {
    auto out = cute::make_fragment_like<Operand>(x);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < cute::size(x); ++i) {
      const float left = reinterpret_cast<const float&>(x(i)) - static_cast<float>(rounded_x(i));
      out(i) = reinterpret_cast<const Operand&>(left);
    }
    return rounded(out);
  }
  template <class A, class B, class C>
  static CUTLASS_DEVICE void multiply(const A& a, const B& b, C&& c) {
    const auto round_a = rounded(a);
    const auto round_b = rounded(b);
    if constexpr (kEmulates) {  // the small ones first
      cute::gemm(Atom{}, rest(a, round_a), round_b, c);
      cute::gemm(Atom{}, round_a, rest(b, round_b), c);
    }
    cute::gemm(Atom{}, round_a, round_b, c);
  }
  // A thread has shares of keys 2t and 2t + 1 of eight, and wants those of t and t + 4. The order
  // of a sum is free: the instruction's keys t and t + 4 are these two, and the values stand so,
  // too.
  template <class Scores>
  static CUTLASS_DEVICE auto left_factor(const Scores& scores) {
    constexpr int kM = cute::size<1>(Scores{}), kN = cute::size<2>(Scores{});
    auto out = cute::make_tensor<Operand>(Shape<Shape<_2, _2>, Int<kM>, Int<kN>>{});
    CUTLASS_PRAGMA_UNROLL
    for (int n = 0; n < kN; ++n) {
      CUTLASS_PRAGMA_UNROLL
      for (int m = 0; m < kM; ++m) {
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < 4; ++i) {  // key i % 2 and row i / 2 there, the other way round here
          out(i / 2 + i % 2 * 2, m, n) = reinterpret_cast<const Operand&>(scores(i, m, n));
        }
      }
    }
    return out;
  }
  template <int kKeys, int kWidth, int kPitch>
  using ValuesLayout = Layout<Shape<Int<kWidth>, Shape<_4, _2, Int<kKeys / 8>>>,
                              Stride<_1, Stride<Int<2 * kPitch>, Int<kPitch>, Int<8 * kPitch>>>>;
  using ValuesCopy = cute::UniversalCopy<uint32_t>;
};

template <class Element, bool kEmulates>
using Products = std::conditional_t<
    std::is_same_v<Element, float>, FloatProducts<kEmulates>,
    std::conditional_t<std::is_same_v<Element, ::cutlass::half_t>,
                       HalfProducts<cute::SM80_16x8x16_F32F16F16F32_TN, Element>,
                       HalfProducts<cute::SM80_16x8x16_F32BF16BF16F32_TN, Element>>>;

}  // namespace tessera::cutlass
