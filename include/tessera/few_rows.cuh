// SPDX-License-Identifier: Apache-2.0
//
// Products of a few rows with a matrix, for generated CUDA kernels: a block makes some columns, its
// warps share the terms, and copies to shared memory are under way while a warp multiplies what
// came before. Time goes by the bytes of the matrix.
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
#include "tessera/few_rows_matrix.cuh"

namespace tk {

// Eight neighbours of a row.
template <class T>
struct neighbours {
  quad quads[sizeof(T) / 2];

  // From `k` on; zeros where the row ends. Where eight divides the length of rows, no vector
  // crosses an end, and all are aligned.
  template <int kTerms>
  TK_INLINE_MEMBER void load(const T* row, int k) {
    if constexpr (kTerms % 8 == 0) {
#pragma unroll
      for (int i = 0; i < static_cast<int>(sizeof(T)) / 2; ++i) {
        quads[i] = reinterpret_cast<const quad*>(row + k)[i];
      }
    } else {
      T values[8];
#pragma unroll
      for (int i = 0; i < 8; ++i) values[i] = k + i < kTerms ? row[k + i] : T(0.0f);
      memcpy(quads, values, sizeof(quads));
    }
  }

  // As pairs to be multiplied.
  TK_INLINE_MEMBER void split(uint32_t (&to)[operand<T>::kParts][4]) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 2) {
        to[0][i] = quads[0].e[i];
      } else {
        float low = as_float(quads[i / 2].e[i % 2 * 2]);
        float high = as_float(quads[i / 2].e[i % 2 * 2 + 1]);
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
};

// What a thread multiplies in a step of the terms: of the row lane / 4 of each eight, eight
// neighbours of every 32. Zeros for rows that there are not, and where rows end.
template <class T, int kEights, int kStep, int kTerms>
struct data_of_step {
  neighbours<T> of[kStep / 32][kEights];

  TK_INLINE_MEMBER void load(const T* data, int rows, int step, int lane) {
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
      const int row = n * 8 + lane / 4;
      const T* const from = data + row * kTerms;
#pragma unroll
      for (int m = 0; m < kStep / 32; ++m) {
        const int k = step * kStep + m * 32 + lane % 4 * 8;
        of[m][n] = {};
        if (row < rows && k < kTerms) of[m][n].template load<kTerms>(from, k);
      }
    }
  }
};

// A warp's sums: of 16 columns and eight rows each.
template <class Matrix, class T, int kTiles, int kEights, int kTerms>
struct few_rows_sums {
  using Half = typename operand<T>::half;
  using Data = data_of_step<T, kEights, Matrix::kStep, kTerms>;
  static constexpr int kParts = operand<T>::kParts;

  float sum[kTiles][kEights][4];

  // `from`: the step of all tiles, Matrix::kBytes each.
  TK_INLINE_MEMBER void add_step(const Matrix& matrix, const char* from, const Data& data, int step,
                                 int lane) {
    float unscaled[kTiles][kEights][4] = {}, ones[kEights][4] = {};
#pragma unroll
    for (int m = 0; m < Matrix::kStep / 32; ++m) {
      const int k = step * Matrix::kStep + m * 32;
      if (kTerms % Matrix::kStep != 0 && k >= kTerms) return;
      uint32_t x[kEights][kParts][4];
#pragma unroll
      for (int n = 0; n < kEights; ++n) {
        data.of[m][n].split(x[n]);
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          if constexpr (Matrix::kShifts) add_ones(ones[n], x[n][part]);
        }
      }
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        uint32_t a[2][4];
        Matrix::template pairs<Half>(a, from + tile * Matrix::kBytes, lane, m);
#pragma unroll
        for (int n = 0; n < kEights; ++n) {
#pragma unroll
          for (int part = 0; part < kParts; ++part) {
            add_pairs(Matrix::kScales ? unscaled[tile][n] : sum[tile][n], a, x[n][part]);
          }
        }
      }
      if constexpr (Matrix::kScales) {
        if ((m + 1) * 32 % Matrix::kUnit == 0 || k + 32 >= kTerms) {
          add_scaled(matrix, from, m * 32 / Matrix::kUnit, lane, unscaled, ones);
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
  TK_INLINE_MEMBER void add_scaled(const Matrix& matrix, const char* from, int unit, int lane,
                                   float (&unscaled)[kTiles][kEights][4],
                                   float (&ones)[kEights][4]) {
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
      const char* of_tile = from + tile * Matrix::kBytes;
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const float scale = Matrix::scale(of_tile, unit, lane / 4 + 8 * c);
        float shift = 0.0f;
        if constexpr (Matrix::kShifts) shift = matrix.shift(of_tile, unit, lane / 4 + 8 * c);
#pragma unroll
        for (int n = 0; n < kEights; ++n) {
#pragma unroll
          for (int i = 2 * c; i < 2 * c + 2; ++i) {
            float all = unscaled[tile][n][i];
            if (Matrix::kShifts) all -= shift * ones[n][i];
            sum[tile][n][i] += scale * all;
            unscaled[tile][n][i] = 0.0f;
          }
        }
      }
    }
#pragma unroll
    for (int n = 0; n < kEights; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) ones[n][i] = 0.0f;
    }
  }
};

// The steps of a matrix on their way to a warp, in the order of its steps: as many as fit into its
// part of the block's memory. No registers hold them, so what is under way is for the memory's
// latency, and not for the multiplying to say.
template <int kSlots, int kTiles, int kWarps, class Matrix>
struct steps_ahead {
  static constexpr int kSlotBytes = kTiles * Matrix::kBytes;

  char* slots;  // kSlots * kSlotBytes, of this warp
  const Matrix& matrix;
  int next, lane, to = 0;  // the step and the slot that is filled next

  // A group of copies for every step, though some have none: they are counted.
  TK_INLINE_MEMBER void begin_next() {
    if (next < Matrix::kSteps) {
#pragma unroll
      for (int tile = 0; tile < kTiles; ++tile) {
        matrix.copy(slots + to * kSlotBytes + tile * Matrix::kBytes, tile, next, lane);
      }
    }
    commit_copies();
    next += kWarps;
    to = to + 1 == kSlots ? 0 : to + 1;
  }
  // Where the oldest step is. The slot before it is free from here on.
  TK_INLINE_MEMBER const char* wait() const {
    wait_for_copies<kSlots - 2>();
    meet_warp();  // other lanes copied some of it, and have read what comes next into that slot
    const int oldest = to + 1 == kSlots ? 0 : to + 1;
    return slots + oldest * kSlotBytes;
  }
};

constexpr int kFewRowsBytes = 36 * 1024;  // shared by the steps under way, and by sums after them

// sums[row * kColumns + column] = sum over k of data[row * kTerms + k] * matrix(k, column), for at
// most 8 kEights rows. All threads of a block call; the sums are there after its next barrier.
template <int kThreads, int kColumns, int kTerms, int kEights, class Matrix, class T>
TK_INLINE void few_rows_of(char* shared, float* sums, int rows, const T* data,
                           const Matrix& matrix) {
  constexpr int kWarps = kThreads / 32, kTiles = kColumns / 16;
  constexpr int kSlotBytes = kTiles * Matrix::kBytes,
                kFitting = kFewRowsBytes / kWarps / kSlotBytes;
  constexpr int kSteps = (Matrix::kSteps + kWarps - 1) / kWarps;  // of a warp
  constexpr int kSlots = kFitting > kSteps + 1 ? kSteps + 1 : kFitting;
  static_assert(kSlots >= 2, "the block has too many columns");
  const int warp = thread() / 32, lane = thread() % 32;
  few_rows_sums<Matrix, T, kTiles, kEights, kTerms> own = {};
  steps_ahead<kSlots, kTiles, kWarps, Matrix> steps{shared + warp * kSlots * kSlotBytes, matrix,
                                                    warp, lane};
#pragma unroll 1
  for (int s = 0; s + 1 < kSlots; ++s) steps.begin_next();
  // Data come from the cache behind the copies that were begun before. What is loaded has its own
  // registers for some steps, and is moved to no others, since that would wait for it.
  constexpr int kDataAhead = kEights == 1 ? 3 : 2;
  typename decltype(own)::Data ahead[kDataAhead];
#pragma unroll
  for (int d = 0; d < kDataAhead; ++d) ahead[d].load(data, rows, warp + d * kWarps, lane);
#pragma unroll 1
  for (int first = warp; first < Matrix::kSteps; first += kDataAhead * kWarps) {
#pragma unroll
    for (int d = 0; d < kDataAhead; ++d) {
      const int step = first + d * kWarps;
      const char* from = steps.wait();
      steps.begin_next();
      if (step < Matrix::kSteps) own.add_step(matrix, from, ahead[d], step, lane);
      ahead[d].load(data, rows, step + kDataAhead * kWarps, lane);
    }
  }
  // Four columns more a row: neighbouring rows begin in different banks.
  constexpr int kAcross = kColumns + 4, kOfWarp = kEights * 8 * kAcross;
  static_assert(kWarps * kOfWarp * 4 <= kFewRowsBytes);
  float* of_warps = reinterpret_cast<float*>(shared);
  barrier();
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
  TK_SHARED(quad, shared, kFewRowsBytes / 16);
  char* const bytes = reinterpret_cast<char*>(shared);
  if (rows <= 8) {
    few_rows_of<kThreads, kColumns, kTerms, 1>(bytes, sums, static_cast<int>(rows), data, matrix);
  } else {
    few_rows_of<kThreads, kColumns, kTerms, 2>(bytes, sums, static_cast<int>(rows), data, matrix);
  }
}

}  // namespace tk

#endif  // TESSERA_FEW_ROWS_CUH_
