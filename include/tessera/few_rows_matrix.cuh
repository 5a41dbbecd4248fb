// SPDX-License-Identifier: Apache-2.0
//
// The matrices of few_rows.cuh, which includes this. A matrix comes in steps of its terms. What a
// warp reads of a step of 16 columns lies in kBytes of shared memory, where `copy` brings it.
#ifndef TESSERA_FEW_ROWS_MATRIX_CUH_
#define TESSERA_FEW_ROWS_MATRIX_CUH_

namespace tk {

// Two integers of a word in the halves of a register, as floats less the middle of their range.
// Those of one byte are taken where they lie, if the digits reach so far: they count 2^shift times.
template <class Half, int kBits>
TK_INLINE uint32_t centred_pair(uint32_t word, int field) {
  using Form = half_form<Half>;
  constexpr uint32_t kMask = (1u << kBits) - 1, kMiddle = 1u << (kBits - 1);
  if constexpr (kBits > Form::kDigits) {
    constexpr uint32_t kUnit = 0x4b000000u;  // 2^23 as float32
    const float all = 8388608.0f + static_cast<float>(kMiddle);
    const float low = as_float(((word >> (kBits * field)) & kMask) | kUnit);
    const float high = as_float(((word >> (kBits * field + 16)) & kMask) | kUnit);
    return bfloat16_pair(low - all, high - all);
  } else {
    constexpr int kTogether = Form::kDigits >= 8 ? 8 / kBits : 1;  // without a shift between them
    const uint32_t shift = static_cast<uint32_t>(kBits * (field % kTogether));
    const uint32_t moved = word >> (kBits * (field / kTogether * kTogether));
    const uint32_t units = and_or(moved, (kMask << shift) * 0x10001u, Form::kUnits);
    // units / 2^shift - (2^(digits - shift) + middle)
    const uint32_t factor = ((Form::kOnes & 0xffffu) - (shift << Form::kDigits)) * 0x10001u;
    const uint32_t less =
        (0x8000u | ((Form::kExponent - shift) << Form::kDigits) | (kMiddle << shift)) * 0x10001u;
    return fma_pair<Half>(units, factor, less);
  }
}

// Zero points beside the middle of the integers' range: none, one for all, one for each block.
struct centred {
  static constexpr bool kShifts = false;
  static constexpr int kBytes = 0;
};
struct one_zero {
  static constexpr bool kShifts = true;
  static constexpr int kBytes = 0;
  float less;  // the zero point less the middle
  TK_INLINE_MEMBER float less_middle(const char*, int, int) const { return less; }
};
template <class T>
struct zeros {
  static constexpr bool kShifts = true;
  static constexpr int kBytes = sizeof(T);  // of one
  const T* first;
  static TK_INLINE_MEMBER float less_middle(const char* from, int at, int middle) {
    return static_cast<float>(reinterpret_cast<const T*>(from)[at]) - static_cast<float>(middle);
  }
};

// Integers of a few bits as tir/fragments.h of the compiler lays them out, from a tile on.
template <int kBits, int kBlock, int kTerms, class Scale, class Zero>
struct words {
  static constexpr int kStep = 256 / kBits;  // terms of 16 bytes a thread
  static constexpr int kSteps = (kTerms + kStep - 1) / kStep;
  static constexpr int kBlocks = (kTerms + kBlock - 1) / kBlock;
  static constexpr int kUnit = kBlock % kStep == 0 ? kStep : 32;  // terms with one scale
  static constexpr int kUnits = kStep / kUnit;
  static constexpr bool kScales = true, kShifts = Zero::kShifts;
  static constexpr int kZeros = 512 + kUnits * 16 * static_cast<int>(sizeof(Scale));
  static constexpr int kBytes = kZeros + kUnits * 16 * Zero::kBytes;

  const int32_t* first;
  const Scale* scales;
  Zero zero;

  TK_INLINE_MEMBER void copy(char* to, int tile, int step, int lane) const {
    const uint32_t at = static_cast<uint32_t>(tile * kSteps + step) * 512u;
    copy_async(to + lane * 16, reinterpret_cast<const char*>(first + lane * 4) + at, true);
    copy_blocks(to + 512, scales, tile, step, lane);
    if constexpr (Zero::kBytes > 0) copy_blocks(to + kZeros, zero.first, tile, step, lane);
  }

  // The pairs of 32 terms: of column lane / 4, and of the one eight further.
  template <class Half>
  static TK_INLINE_MEMBER void pairs(uint32_t (&to)[2][4], const char* from, int lane,
                                     int part_of_step) {
    constexpr int kEach = 32 / kBits;
    const quad integers = *reinterpret_cast<const quad*>(from + lane * 16);
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (part_of_step * 2 + c) * 8 + 2 * i;
        to[c][i] = centred_pair<Half, kBits>(integers.e[at / kEach], at % kEach / 2);
      }
    }
  }
  static TK_INLINE_MEMBER float scale(const char* from, int unit, int column) {
    return static_cast<float>(reinterpret_cast<const Scale*>(from + 512)[unit * 16 + column]);
  }
  TK_INLINE_MEMBER float shift(const char* from, int unit, int column) const {
    return zero.less_middle(from + kZeros, unit * 16 + column, 1 << (kBits - 1));
  }

  // What the block reads first.
  template <int kColumns>
  TK_INLINE_MEMBER void prefetch() const {
    constexpr int kAll = kColumns / 16 * kSteps * 512;
    if (thread() * 128 < kAll) prefetch_line(first + thread() * 32);
  }

 private:
  // Of each unit, the numbers of its block: as many accesses as a number has bytes.
  template <class F>
  static TK_INLINE_MEMBER void copy_blocks(char* to, const F* from, int tile, int step, int lane) {
    constexpr int kAccesses = static_cast<int>(sizeof(F));
    const int unit = lane / kAccesses, part = lane % kAccesses;
    if (unit >= kUnits) return;
    const int block = (step * kStep + unit * kUnit) / kBlock;
    if (kTerms % kStep != 0 && block >= kBlocks) return;
    constexpr uint32_t kBytes = 16 * sizeof(F);
    const uint32_t at = static_cast<uint32_t>(tile * kBlocks + block) * kBytes;
    copy_async(to + lane * 16, reinterpret_cast<const char*>(from) + part * 16 + at, true);
  }
};

// Floats of 16 bits as they lie in memory, [columns, terms], from a column on. kTerms % 8 == 0.
template <int kTerms, class T>
struct rows_of {
  static constexpr int kStep = 32, kSteps = (kTerms + kStep - 1) / kStep, kUnit = kStep;
  static constexpr int kBytes = 1024;
  static constexpr bool kScales = false, kShifts = false;

  const T* first;
  int columns;  // how many there are from there on

  TK_INLINE_MEMBER void copy(char* to, int tile, int step, int lane) const {
    const int k = step * kStep + lane % 4 * 8;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int column = min(tile * 16 + lane / 4 + 8 * c, columns - 1);
      copy_async(to + c * 512 + lane * 16,
                 first + static_cast<int64_t>(column) * kTerms + (k < kTerms ? k : 0), k < kTerms);
    }
  }
  template <class Half>
  static TK_INLINE_MEMBER void pairs(uint32_t (&to)[2][4], const char* from, int lane, int) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const quad numbers = *reinterpret_cast<const quad*>(from + c * 512 + lane * 16);
#pragma unroll
      for (int i = 0; i < 4; ++i) to[c][i] = numbers.e[i];
    }
  }
  template <int kColumns>
  TK_INLINE_MEMBER void prefetch() const {
    const int column = thread() / 16, at = thread() % 16 * 64;
    if (column < columns && column < kColumns && at < kTerms) {
      prefetch_line(first + static_cast<int64_t>(column) * kTerms + at);
    }
  }
};

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_MATRIX_CUH_
