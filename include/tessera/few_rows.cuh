// SPDX-License-Identifier: Apache-2.0
//
// Products of a few rows with a matrix, for generated CUDA kernels: a block makes some columns, its
// warps share the terms, and a thread has some accesses of 16 bytes under way while it multiplies.
// Time goes by the bytes of the matrix.
//
// Tensor cores multiply also a single row: the columns of the matrix are the 16 rows of
// mma.m16n8k16, and the rows of the data its 8 columns. Integers of a few bits become floats of 16
// bits exactly, by bits that are put under an exponent and a number that is taken away; sums are
// float32, and so is what scales them, once a block of terms. Data of float32 are multiplied as
// three numbers of bfloat16 each, which have all of their digits.
//
// kernel_cuda.cuh includes this. A test emulates what it is made of (few_rows_device.cuh).
#ifndef TESSERA_FEW_ROWS_CUH_
#define TESSERA_FEW_ROWS_CUH_

#include <stdint.h>
#include <string.h>

#include "tessera/few_rows_numbers.cuh"
#ifndef TK_FEW_ROWS_DEVICE
#define TK_FEW_ROWS_DEVICE "tessera/few_rows_device.cuh"
#endif
#include TK_FEW_ROWS_DEVICE

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
    const uint32_t units = (moved & ((kMask << shift) * 0x10001u)) | Form::kUnits;
    // units / 2^shift - (2^(digits - shift) + middle)
    const uint32_t factor = ((Form::kOnes & 0xffffu) - (shift << Form::kDigits)) * 0x10001u;
    const uint32_t less =
        (0x8000u | ((Form::kExponent - shift) << Form::kDigits) | (kMiddle << shift)) * 0x10001u;
    return fma_pair<Half>(units, factor, less);
  }
}

// Eight neighbours of a row from `k` on; zeros where the row ends. Where eight divides the length
// of rows, no vector crosses an end, and all are aligned.
template <int kTerms, class T>
TK_INLINE void load_neighbours(T (&to)[8], const T* row, int k) {
  if constexpr (kTerms % 8 == 0) {
    quad q[sizeof(T) / 2];
#pragma unroll
    for (int i = 0; i < static_cast<int>(sizeof(T)) / 2; ++i) {
      q[i] = reinterpret_cast<const quad*>(row + k)[i];
    }
    memcpy(to, q, sizeof(to));
  } else {
#pragma unroll
    for (int i = 0; i < 8; ++i) to[i] = k + i < kTerms ? row[k + i] : T(0.0f);
  }
}

// The same as pairs to be multiplied; zeros for rows that there are not.
template <int kTerms, class T>
TK_INLINE void load_pairs(uint32_t (&to)[operand<T>::kParts][4], const T* row, int k,
                          bool is_there) {
  T values[8];
  memset(values, 0, sizeof(values));
  if (is_there && k < kTerms) load_neighbours<kTerms>(values, row, k);
  if constexpr (sizeof(T) == 2) {
    memcpy(to[0], values, sizeof(values));
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float low = values[2 * i], high = values[2 * i + 1];
#pragma unroll
      for (int part = 0; part < operand<T>::kParts; ++part) {
        const uint32_t pair = bfloat16_pair(low, high);
        to[part][i] = pair;
        low -= as_float(pair << 16);
        high -= as_float(pair & 0xffff0000u);
      }
    }
  }
}

// ---- Matrices

// Zero points beside the middle of the integers' range: none, one for all, one for each block.
struct centred {
  static constexpr bool kShifts = false, kIsOne = true;
};
struct one_zero {
  static constexpr bool kShifts = true, kIsOne = true;
  float less;  // the zero point less the middle
};
template <class T>
struct zeros {
  static constexpr bool kShifts = true, kIsOne = false;
  const T* first;
};

// Integers of a few bits as tir/fragments.h of the compiler lays them out, from a tile on.
template <int kBits, int kBlock, int kTerms, class Scale, class Zero>
struct words {
  static constexpr int kStep = 256 / kBits;  // terms that one access brings
  static constexpr int kSteps = (kTerms + kStep - 1) / kStep;
  static constexpr int kBlocks = (kTerms + kBlock - 1) / kBlock;
  static constexpr int kUnit = kBlock % kStep == 0 ? kStep : 32;  // terms with one scale
  static constexpr int kLoads = 1;
  static constexpr bool kScales = true, kShifts = Zero::kShifts;

  const int32_t* first;
  const Scale* scales;
  Zero zero;

  // What a thread reads of a step.
  struct part {
    quad integers;
    float scale[kStep / kUnit][2], shift[kStep / kUnit][2];  // of two columns
  };

  TK_INLINE_MEMBER part load(int tile, int step, int lane) const {
    part p = {};
    if (step >= kSteps) return p;
    p.integers = load_once(first + (tile * kSteps + step) * 128 + lane * 4);
#pragma unroll
    for (int unit = 0; unit < kStep / kUnit; ++unit) {
      const int block = (step * kStep + unit * kUnit) / kBlock;
      if (block >= kBlocks) continue;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const int at = (tile * kBlocks + block) * 16 + lane / 4 + 8 * c;
        p.scale[unit][c] = static_cast<float>(scales[at]);
        p.shift[unit][c] = shift_of(at);
      }
    }
    return p;
  }
  TK_INLINE_MEMBER float shift_of([[maybe_unused]] int at) const {
    if constexpr (!kShifts) {
      return 0.0f;
    } else if constexpr (Zero::kIsOne) {
      return zero.less;
    } else {
      return static_cast<float>(zero.first[at]) - static_cast<float>(1 << (kBits - 1));
    }
  }

  // The pairs of 32 terms: of column lane / 4, and of the one eight further.
  template <class Half>
  static TK_INLINE_MEMBER void pairs(uint32_t (&to)[2][4], const part& p, int part_of_step) {
    constexpr int kEach = 32 / kBits;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int at = (part_of_step * 2 + c) * 8 + 2 * i;
        to[c][i] = centred_pair<Half, kBits>(p.integers.e[at / kEach], at % kEach / 2);
      }
    }
  }

  // What the block reads first.
  template <int kColumns>
  TK_INLINE_MEMBER void prefetch() const {
    constexpr int kBytes = kColumns / 16 * kSteps * 512;
    if (thread() * 128 < kBytes) prefetch_line(first + thread() * 32);
  }
};

// Floats of 16 bits as they lie in memory, [columns, terms], from a column on. kTerms % 8 == 0.
template <int kTerms, class T>
struct rows_of {
  static constexpr int kStep = 32, kSteps = (kTerms + kStep - 1) / kStep, kUnit = kStep;
  static constexpr int kLoads = 2;
  static constexpr bool kScales = false, kShifts = false;

  const T* first;
  int columns;  // how many there are from there on

  struct part {
    quad numbers[2];
  };

  TK_INLINE_MEMBER part load(int tile, int step, int lane) const {
    part p = {};
    const int k = step * kStep + lane % 4 * 8;
    if (k >= kTerms) return p;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      const int column = min(tile * 16 + lane / 4 + 8 * c, columns - 1);
      p.numbers[c] = load_once(first + static_cast<int64_t>(column) * kTerms + k);
    }
    return p;
  }
  template <class Half>
  static TK_INLINE_MEMBER void pairs(uint32_t (&to)[2][4], const part& p, int) {
#pragma unroll
    for (int c = 0; c < 2; ++c) {
#pragma unroll
      for (int i = 0; i < 4; ++i) to[c][i] = p.numbers[c].e[i];
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

// ---- The product

// A warp's sums: of 16 columns and eight rows each.
template <class Matrix, class T, int kTiles, int kEights, int kTerms>
struct few_rows_sums {
  using Half = typename operand<T>::half;
  static constexpr int kParts = operand<T>::kParts;
  using Part = typename Matrix::part;

  float sum[kTiles][kEights][4];

  TK_INLINE_MEMBER void add_step(const Part (&parts)[kTiles], const T* data, int rows, int step,
                                 int lane) {
    float unscaled[kTiles][kEights][4] = {}, ones[kEights][4] = {};
#pragma unroll
    for (int m = 0; m < Matrix::kStep / 32; ++m) {
      const int k = step * Matrix::kStep + m * 32;
      if (kTerms % Matrix::kStep != 0 && k >= kTerms) return;
#pragma unroll
      for (int n = 0; n < kEights; ++n) {
        uint32_t x[kParts][4];
        const int row = n * 8 + lane / 4;
        load_pairs<kTerms>(x, data + static_cast<int64_t>(row) * kTerms, k + lane % 4 * 8,
                           row < rows);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          if constexpr (Matrix::kShifts) add_ones(ones[n], x[part]);
#pragma unroll
          for (int tile = 0; tile < kTiles; ++tile) {
            uint32_t a[2][4];
            Matrix::template pairs<Half>(a, parts[tile], m);
            add_pairs(Matrix::kScales ? unscaled[tile][n] : sum[tile][n], a, x[part]);
          }
        }
      }
      if constexpr (Matrix::kScales) {
        if ((m + 1) * 32 % Matrix::kUnit == 0 || k + 32 >= kTerms) {
          add_scaled(parts, m * 32 / Matrix::kUnit, unscaled, ones);
        }
      }
    }
  }

 private:
  static TK_INLINE_MEMBER void add_pairs(float (&c)[4], const uint32_t (&a)[2][4],
                                         const uint32_t (&x)[4]) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      multiply_add<Half>(c, a[0][i], a[1][i], a[0][i + 1], a[1][i + 1], x[i], x[i + 1]);
    }
  }
  // The sums of the data themselves, in each of the columns.
  static TK_INLINE_MEMBER void add_ones(float (&c)[4], const uint32_t (&x)[4]) {
    constexpr uint32_t kOnes = half_form<Half>::kOnes;
    multiply_add<Half>(c, kOnes, kOnes, kOnes, kOnes, x[0], x[1]);
    multiply_add<Half>(c, kOnes, kOnes, kOnes, kOnes, x[2], x[3]);
  }
  TK_INLINE_MEMBER void add_scaled(const Part (&parts)[kTiles], int unit,
                                   float (&unscaled)[kTiles][kEights][4],
                                   float (&ones)[kEights][4]) {
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int tile = 0; tile < kTiles; ++tile) {
          float all = unscaled[tile][n][i];
          if (Matrix::kShifts) all -= parts[tile].shift[unit][i / 2] * ones[n][i];
          sum[tile][n][i] += parts[tile].scale[unit][i / 2] * all;
          unscaled[tile][n][i] = 0.0f;
        }
        ones[n][i] = 0.0f;
      }
    }
  }
};

// sums[row * kColumns + column] = sum over k of data[row * kTerms + k] * matrix(k, column), for at
// most 8 kEights rows. All threads of a block call; the sums are there after its next barrier.
template <int kThreads, int kColumns, int kTerms, int kEights, class Matrix, class T>
TK_INLINE void few_rows_of(float* sums, int rows, const T* data, const Matrix& matrix) {
  constexpr int kWarps = kThreads / 32, kTiles = kColumns / 16;
  // Accesses of a thread that are under way while it multiplies what those before them brought.
  constexpr int kLoads = kTiles * Matrix::kLoads;
  constexpr int kAhead = kLoads >= 4 ? 1 : 4 / kLoads;
  using Part = typename Matrix::part;
  const int warp = thread() / 32, lane = thread() % 32;
  few_rows_sums<Matrix, T, kTiles, kEights, kTerms> own = {};
  Part now[kAhead][kTiles], next[kAhead][kTiles];
#pragma unroll
  for (int a = 0; a < kAhead; ++a) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      now[a][tile] = matrix.load(tile, warp + a * kWarps, lane);
    }
  }
  for (int first = warp; first < Matrix::kSteps; first += kAhead * kWarps) {
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        next[a][tile] = matrix.load(tile, first + (kAhead + a) * kWarps, lane);
      }
    }
#pragma unroll
    for (int a = 0; a < kAhead; ++a) {
      const int step = first + a * kWarps;
      if (step < Matrix::kSteps) own.add_step(now[a], data, rows, step, lane);
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) now[a][tile] = next[a][tile];
    }
  }
  // Four columns more a row: neighbouring rows begin in different banks.
  constexpr int kAcross = kColumns + 4, kOfWarp = kEights * 8 * kAcross;
  TK_SHARED(float, of_warps, kWarps* kOfWarp);
#pragma unroll
  for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = n * 8 + lane % 4 * 2 + i % 2, column = tile * 16 + lane / 4 + i / 2 * 8;
        of_warps[warp * kOfWarp + row * kAcross + column] = own.sum[tile][n][i];
      }
    }
  }
  barrier();
  for (int e = thread(); e < rows * kColumns; e += kThreads) {
    float total = 0.0f;
#pragma unroll
    for (int w = 0; w < kWarps; ++w) {
      total += of_warps[w * kOfWarp + e / kColumns * kAcross + e % kColumns];
    }
    sums[e] = total;
  }
}

// The same for at most 16 rows.
template <int kThreads, int kColumns, int kTerms, class Matrix, class T>
TK_INLINE void few_rows(float* sums, int64_t rows, const T* data, const Matrix& matrix) {
  if (rows <= 8) {
    few_rows_of<kThreads, kColumns, kTerms, 1>(sums, static_cast<int>(rows), data, matrix);
  } else {
    few_rows_of<kThreads, kColumns, kTerms, 2>(sums, static_cast<int>(rows), data, matrix);
  }
}

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_CUH_
