// SPDX-License-Identifier: Apache-2.0
//
// Sums of products of matrices by the CPU's matrix unit (AMX): what generated kernels that multiply
// bfloat16 or bytes by tiles call besides tessera/kernel_math.h. Plain C++ where there is no unit.
#ifndef TESSERA_KERNEL_TILES_H_
#define TESSERA_KERNEL_TILES_H_

#include "tessera/kernel_math.h"

#if defined(TK_TILE_UNIT)  // who emulates the unit
#include TK_TILE_UNIT
#elif (defined(__AMX_TILE__) && defined(__AMX_INT8__) && defined(__AMX_BF16__)) || \
    (defined(__AMXTILE__) && defined(__AMXINT8__) && defined(__AMXBF16__))  // clang 14
#define TK_TILE_UNIT <immintrin.h>
#include TK_TILE_UNIT
#endif

namespace tk {

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

#if defined(TK_TILE_UNIT)

// Rows of the eight tiles, and bytes of a row, as the unit reads them.
struct alignas(64) TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Compilers do not know what memory the unit's instructions read: what was written stands before
// this.
TK_INLINE void is_written(const void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }

// Numbers of tiles are parts of instructions.
#define TK_MULTIPLY_TILES(sums, a, b)          \
  do {                                         \
    if constexpr (is_same<A, bfloat16>) {      \
      _tile_dpbf16ps(sums, a, b);              \
    } else if constexpr (is_same<A, int8_t>) { \
      if constexpr (is_same<B, int8_t>)        \
        _tile_dpbssd(sums, a, b);              \
      else                                     \
        _tile_dpbsud(sums, a, b);              \
    } else {                                   \
      if constexpr (is_same<B, int8_t>)        \
        _tile_dpbusd(sums, a, b);              \
      else                                     \
        _tile_dpbuud(sums, a, b);              \
    }                                          \
  } while (false)

#endif

// sums[row][column] += a[row][k] * b[k / n][column][k % n] over terms k, for up to 32 rows and 32
// columns; n elements have 32 bits. The sums are defined again after `store`. Floats that are
// subnormal count as zero in the unit.
template <class A, class B, class Sum>
class TileProduct {
 public:
  inline __attribute__((always_inline)) TileProduct(Sum* sums, int64_t rows, int64_t columns)
      : sums_(sums), rows_(rows), columns_(columns) {
#if defined(TK_TILE_UNIT)
    TileShapes shapes;
    const auto set = [&](int tile, int64_t tile_rows, int64_t words) {
      if (tile_rows <= 0 || words <= 0) return;
      shapes.rows[tile] = static_cast<uint8_t>(tile_rows);
      shapes.row_bytes[tile] = static_cast<uint16_t>(4 * words);
    };
    for (int i = 0; i < 2; ++i) {
      const int64_t some_rows = part(rows, i);
      set(2 * i, some_rows, part(columns, 0));
      set(2 * i + 1, some_rows, part(columns, 1));
      set(4 + i, some_rows, kSide);
      set(6 + i, part(columns, i) > 0 ? kSide : 0, part(columns, i));
    }
    is_written(&shapes);
    _tile_loadconfig(&shapes);
#endif
  }

  // Begins with sums of nothing.
  inline __attribute__((always_inline)) void zero() {
#if defined(TK_TILE_UNIT)
    _tile_zero(0);
    if (columns_ > kSide) _tile_zero(1);
    if (rows_ > kSide) _tile_zero(2);
    if (rows_ > kSide && columns_ > kSide) _tile_zero(3);
#else
    for (int64_t i = 0; i < rows_ * columns_; ++i) sums_[i] = 0;
#endif
  }
  // Begins with what is there.
  inline __attribute__((always_inline)) void load() {
#if defined(TK_TILE_UNIT)
    is_written(sums_);
    const int64_t bytes = columns_ * static_cast<int64_t>(sizeof(Sum));
    _tile_loadd(0, sums_, bytes);
    if (columns_ > kSide) _tile_loadd(1, sums_ + kSide, bytes);
    if (rows_ > kSide) _tile_loadd(2, sums_ + kSide * columns_, bytes);
    if (rows_ > kSide && columns_ > kSide) {
      _tile_loadd(3, sums_ + kSide * columns_ + kSide, bytes);
    }
#endif
  }

  // Strides count elements, from a row to the next and from a word of each column to the next.
  inline __attribute__((always_inline)) void add(const A* a, int64_t a_stride, const B* b,
                                                 int64_t b_stride, int64_t terms) {
#if defined(TK_TILE_UNIT)
    int64_t k = 0;
    for (; k + kTerms <= terms; k += kTerms)
      add_step(a + k, a_stride, b + k / kN * b_stride, b_stride);
    if (k < terms) add_rest(a + k, a_stride, b + k / kN * b_stride, b_stride, terms - k);
#else
    for (int64_t row = 0; row < rows_; ++row) {
      for (int64_t k = 0; k < terms; ++k) {
        const Sum x = static_cast<Sum>(a[row * a_stride + k]);
        const B* const y = b + k / kN * b_stride + k % kN;
        for (int64_t c = 0; c < columns_; ++c) {
          Sum& sum = sums_[row * columns_ + c];
          sum = added(sum, x * static_cast<Sum>(y[c * kN]));
        }
      }
    }
#endif
  }

  inline __attribute__((always_inline)) void store() {
#if defined(TK_TILE_UNIT)
    const int64_t bytes = columns_ * static_cast<int64_t>(sizeof(Sum));
    _tile_stored(0, sums_, bytes);
    if (columns_ > kSide) _tile_stored(1, sums_ + kSide, bytes);
    if (rows_ > kSide) _tile_stored(2, sums_ + kSide * columns_, bytes);
    if (rows_ > kSide && columns_ > kSide) {
      _tile_stored(3, sums_ + kSide * columns_ + kSide, bytes);
    }
    _tile_release();
    is_written(sums_);
#endif
  }

 private:
  // Integers wrap.
  static float added(float x, float y) { return x + y; }
  static int32_t added(int32_t x, int32_t y) {
    return static_cast<int32_t>(static_cast<uint32_t>(x) + static_cast<uint32_t>(y));
  }

  static constexpr int64_t kSide = 16;           // rows of a tile, and words of a row
  static constexpr int64_t kN = 4 / sizeof(A);   // terms of a word
  static constexpr int64_t kTerms = kSide * kN;  // of a step
  static_assert(sizeof(A) == sizeof(B) && sizeof(Sum) == 4);

#if defined(TK_TILE_UNIT)
  static constexpr int64_t part(int64_t size, int64_t half) {
    const int64_t left = size - half * kSide;
    return left < kSide ? left : kSide;
  }

  inline __attribute__((always_inline)) void add_step(const A* a, int64_t a_stride, const B* b,
                                                      int64_t b_stride) {
    const int64_t a_bytes = a_stride * static_cast<int64_t>(sizeof(A));
    const int64_t b_bytes = b_stride * static_cast<int64_t>(sizeof(B));
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, b_bytes);
    TK_MULTIPLY_TILES(0, 4, 6);
    if (columns_ > kSide) {
      _tile_loadd(7, b + kSide * kN, b_bytes);
      TK_MULTIPLY_TILES(1, 4, 7);
    }
    if (rows_ > kSide) {
      _tile_loadd(5, a + kSide * a_stride, a_bytes);
      TK_MULTIPLY_TILES(2, 5, 6);
      if (columns_ > kSide) TK_MULTIPLY_TILES(3, 5, 7);
    }
  }

  // Terms that fill no step, with zeros behind them.
  __attribute__((noinline)) void add_rest(const A* a, int64_t a_stride, const B* b,
                                          int64_t b_stride, int64_t terms) {
    constexpr int64_t kWidth = 2 * kSide * kN;
    alignas(64) uint8_t rest_of_a[2 * kSide * kTerms * sizeof(A)] = {};
    alignas(64) uint8_t rest_of_b[kSide * kWidth * sizeof(B)] = {};
    for (int64_t row = 0; row < rows_; ++row) {
      __builtin_memcpy(rest_of_a + row * kTerms * sizeof(A), a + row * a_stride, terms * sizeof(A));
    }
    for (int64_t k = 0; k < terms; k += kN) {
      __builtin_memcpy(rest_of_b + k / kN * kWidth * sizeof(B), b + k / kN * b_stride,
                       columns_ * kN * sizeof(B));
    }
    is_written(rest_of_a);
    is_written(rest_of_b);
    add_step(reinterpret_cast<const A*>(rest_of_a), kTerms, reinterpret_cast<const B*>(rest_of_b),
             kWidth);
    is_written(rest_of_a);
    is_written(rest_of_b);
  }
#endif

  Sum* sums_;
  int64_t rows_, columns_;
};

#if defined(TK_TILE_UNIT)
#undef TK_MULTIPLY_TILES
#endif

}  // namespace tk

#endif  // TESSERA_KERNEL_TILES_H_
