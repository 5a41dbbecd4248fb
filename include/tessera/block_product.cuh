// SPDX-License-Identifier: Apache-2.0
//
// A block's part of a product of matrices in floats of 16 bits, for generated CUDA kernels: tensor
// cores multiply what copies have brought to shared memory in steps of 32 terms, of which two are
// under way meanwhile. Sums are float32, and go from registers to where they belong.
//
// few_rows.cuh has what this is made of, and a test emulates it.
#ifndef TESSERA_BLOCK_PRODUCT_CUH_
#define TESSERA_BLOCK_PRODUCT_CUH_

#include "tessera/few_rows.cuh"

namespace tk {

// A tile in shared memory: rows of vectors of eight numbers. Those of neighbouring rows that one
// access reads lie in different banks: vectors change places, or rows of other sizes are odd.
template <int kAcross>  // numbers in a row
struct vectors_of_tile {
  static constexpr int kVectors = kAcross / 8;
  static constexpr bool kChange = (kVectors & (kVectors - 1)) == 0;
  static constexpr int kRow = kChange ? kVectors : kVectors | 1;
  static TK_INLINE_MEMBER int place(int row, int vector) {
    constexpr int kOfLine = kVectors < 8 ? 8 / kVectors : 1;  // rows, before banks repeat
    constexpr int kPlaces = kVectors < 8 ? kVectors : 8;
    return row * kRow + (kChange ? vector ^ (row / kOfLine % kPlaces) : vector);
  }
};

// How the eight warps of a block share its rows and columns, and the steps that are in memory.
template <int kRows, int kColumns>
struct block_shape {
  static constexpr int kThreads = 256, kStep = 32, kSlots = 3;
  static constexpr int kDown = kColumns < 64 || kRows > kColumns ? 4 : 2,
                       kAcross = kThreads / 32 / kDown;
  static constexpr int kWarpRows = kRows / kDown, kWarpColumns = kColumns / kAcross;
  static constexpr int kVectorsOfA = kRows * kStep / 8, kVectorsOfB = kStep * kColumns / 8;
  static constexpr int kSlot = kVectorsOfA + kVectorsOfB;
  static_assert(kWarpRows % 16 == 0 && kWarpColumns % 16 == 0);
};

// Two neighbours, stored at once.
struct alignas(8) float_pair {
  float e[2];
};

// kTerms of each row of `a` and of as many rows of `b`; their rows have kPlaces and kColumnsOfAll
// numbers, of which vectors of eight are aligned.
template <int kRows, int kColumns, int kTerms, int kPlaces, int kColumnsOfAll, class Half>
struct block_multiplier {
  using Shape = block_shape<kRows, kColumns>;
  using OfA = vectors_of_tile<Shape::kStep>;
  using OfB = vectors_of_tile<kColumns>;
  static constexpr int kSteps = (kTerms + Shape::kStep - 1) / Shape::kStep;
  static constexpr int kTilesDown = Shape::kWarpRows / 16, kTilesAcross = Shape::kWarpColumns / 8;

  quad* shared;  // kSlots * kSlot
  const Half *a, *b;
  float sum[kTilesDown][kTilesAcross][4];

  // A group of copies for every step, though some have none: they are counted.
  TK_INLINE_MEMBER void begin(int step) {
    if (step < kSteps) {
      quad* const to = shared + step % Shape::kSlots * Shape::kSlot;
      const int first = step * Shape::kStep;
      for (int v = thread(); v < Shape::kVectorsOfA; v += Shape::kThreads) {
        const int row = v / OfA::kVectors, vector = v % OfA::kVectors, k = first + vector * 8;
        copy_async(to + OfA::place(row, vector), a + static_cast<int64_t>(row) * kPlaces + k,
                   k < kTerms);
      }
      for (int v = thread(); v < Shape::kVectorsOfB; v += Shape::kThreads) {
        const int row = v / OfB::kVectors, vector = v % OfB::kVectors, k = first + row;
        copy_async(to + Shape::kVectorsOfA + OfB::place(row, vector),
                   b + static_cast<int64_t>(k) * kColumnsOfAll + vector * 8, k < kTerms);
      }
    }
    commit_copies();
  }

  TK_INLINE_MEMBER void multiply(int step) {
    const quad* const from = shared + step % Shape::kSlots * Shape::kSlot;
    const int lane = thread() % 32;
    const int row = first_row() + lane % 16, column = first_column() / 8 + lane / 16;
#pragma unroll
    for (int k = 0; k < Shape::kStep; k += 16) {
      uint32_t of_a[kTilesDown][4], of_b[kTilesAcross / 2][4];
#pragma unroll
      for (int m = 0; m < kTilesDown; ++m) {
        load_matrices(of_a[m], from + OfA::place(row + m * 16, k / 8 + lane / 16));
      }
#pragma unroll
      for (int n = 0; n < kTilesAcross / 2; ++n) {
        load_matrices_across(of_b[n],
                             from + Shape::kVectorsOfA + OfB::place(k + lane % 16, column + n * 2));
      }
#pragma unroll
      for (int m = 0; m < kTilesDown; ++m) {
#pragma unroll
        for (int n = 0; n < kTilesAcross; ++n) {
          const uint32_t* const pair = of_b[n / 2] + n % 2 * 2;
          multiply_add<Half>(sum[m][n], of_a[m][0], of_a[m][1], of_a[m][2], of_a[m][3], pair[0],
                             pair[1]);
        }
      }
    }
  }

  TK_INLINE_MEMBER void store(float* to) const {
    const int lane = thread() % 32;
#pragma unroll
    for (int m = 0; m < kTilesDown; ++m) {
#pragma unroll
      for (int n = 0; n < kTilesAcross; ++n) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int row = first_row() + m * 16 + half * 8 + lane / 4;
          const int column = first_column() + n * 8 + lane % 4 * 2;
          *reinterpret_cast<float_pair*>(to + static_cast<int64_t>(row) * kColumnsOfAll +
                                         column) = {{sum[m][n][half * 2], sum[m][n][half * 2 + 1]}};
        }
      }
    }
  }

 private:
  static TK_INLINE_MEMBER int first_row() {
    return thread() / 32 / Shape::kAcross * Shape::kWarpRows;
  }
  static TK_INLINE_MEMBER int first_column() {
    return thread() / 32 % Shape::kAcross * Shape::kWarpColumns;
  }
};

// sums[row * kColumnsOfAll + column] = sum over k of a[row * kPlaces + k] * b[k * kColumnsOfAll +
// column], for kRows and kColumns, by the 256 threads of a block.
template <int kRows, int kColumns, int kTerms, int kPlaces, int kColumnsOfAll, class Half>
TK_INLINE void block_product(float* sums, const Half* a, const Half* b) {
  using Shape = block_shape<kRows, kColumns>;
  TK_SHARED(quad, shared, Shape::kSlots * Shape::kSlot);
  block_multiplier<kRows, kColumns, kTerms, kPlaces, kColumnsOfAll, Half> all{shared, a, b, {}};
#pragma unroll
  for (int step = 0; step + 1 < Shape::kSlots; ++step) all.begin(step);
#pragma unroll 1
  for (int step = 0; step < all.kSteps; ++step) {
    wait_for_copies<Shape::kSlots - 2>();
    barrier();  // all have read the slot that is filled next
    all.begin(step + Shape::kSlots - 1);
    all.multiply(step);
  }
  all.store(sums);
}

}  // namespace tk

#endif  // TESSERA_BLOCK_PRODUCT_CUH_
