// SPDX-License-Identifier: Apache-2.0
// The instructions of a matrix unit that tessera/kernel_tiles.h is made of, in plain C++: that
// includes this in place of what compilers have for a CPU with one (TK_TILE_UNIT). What the unit
// would refuse ends the program.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tk {

struct emulated_unit {
  struct tile {
    int rows = 0, bytes = 0;
    unsigned char data[16][64] = {};
  };
  tile tiles[8];
};
inline thread_local emulated_unit unit;

inline void must_be(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "matrix unit: %s\n", what);
  std::abort();
}

inline emulated_unit::tile& configured(int number) {
  emulated_unit::tile& t = unit.tiles[number];
  must_be(t.rows > 0, "a tile without a shape");
  return t;
}

inline void emulated_loadconfig(const void* memory) {
  unsigned char bytes[64];
  std::memcpy(bytes, memory, sizeof bytes);
  must_be(bytes[0] == 1 && bytes[1] == 0, "not the palette that there is");
  for (int i = 2; i < 16; ++i) must_be(bytes[i] == 0, "a reserved byte is not zero");
  for (int i = 0; i < 8; ++i) {
    std::uint16_t row_bytes;
    std::memcpy(&row_bytes, bytes + 16 + 2 * i, sizeof row_bytes);
    const int rows = bytes[48 + i];
    must_be(rows <= 16 && row_bytes <= 64 && (rows == 0) == (row_bytes == 0), "no such shape");
    unit.tiles[i] = {};
    unit.tiles[i].rows = rows;
    unit.tiles[i].bytes = row_bytes;
  }
}

inline void emulated_release() { unit = {}; }
inline void emulated_zero(int number) {
  std::memset(configured(number).data, 0, sizeof(emulated_unit::tile::data));
}

inline void emulated_loadd(int number, const void* from, std::int64_t stride) {
  emulated_unit::tile& t = configured(number);
  std::memset(t.data, 0, sizeof t.data);
  for (int r = 0; r < t.rows; ++r) {
    std::memcpy(t.data[r], static_cast<const char*>(from) + r * stride,
                static_cast<std::size_t>(t.bytes));
  }
}

inline void emulated_stored(int number, void* to, std::int64_t stride) {
  const emulated_unit::tile& t = configured(number);
  for (int r = 0; r < t.rows; ++r) {
    std::memcpy(static_cast<char*>(to) + r * stride, t.data[r], static_cast<std::size_t>(t.bytes));
  }
}

// Calls f(sum, a, b) with the places of four bytes each.
template <class F>
void for_each_word(int sums, int first, int second, F&& f) {
  emulated_unit::tile &c = configured(sums), &a = configured(first), &b = configured(second);
  must_be(c.rows == a.rows && c.bytes == b.bytes && a.bytes == 4 * b.rows, "shapes differ");
  for (int m = 0; m < c.rows; ++m) {
    for (int k = 0; k < b.rows; ++k) {
      for (int n = 0; n < c.bytes / 4; ++n) {
        f(&c.data[m][4 * n], &a.data[m][4 * k], &b.data[k][4 * n]);
      }
    }
  }
}

template <class A, class B>
void emulated_dpb(int sums, int first, int second) {
  for_each_word(sums, first, second, [](unsigned char* c, const void* a, const void* b) {
    std::int32_t sum;
    A x[4];
    B y[4];
    std::memcpy(&sum, c, 4);
    std::memcpy(x, a, 4);
    std::memcpy(y, b, 4);
    auto wrapped = static_cast<std::uint32_t>(sum);
    for (int i = 0; i < 4; ++i) wrapped += static_cast<std::uint32_t>(x[i] * y[i]);
    std::memcpy(c, &wrapped, 4);
  });
}

// Subnormal numbers count as zero.
inline float of_bfloat16(std::uint16_t bits) {
  const std::uint32_t word = static_cast<std::uint32_t>(bits) << 16;
  float value;
  std::memcpy(&value, &word, 4);
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

inline void emulated_dpbf16ps(int sums, int first, int second) {
  for_each_word(sums, first, second, [](unsigned char* c, const void* a, const void* b) {
    float sum;
    std::uint16_t x[2], y[2];
    std::memcpy(&sum, c, 4);
    std::memcpy(x, a, 4);
    std::memcpy(y, b, 4);
    for (int i = 0; i < 2; ++i) sum += of_bfloat16(x[i]) * of_bfloat16(y[i]);
    std::memcpy(c, &sum, 4);
  });
}

}  // namespace tk

#define _tile_loadconfig(memory) tk::emulated_loadconfig(memory)
#define _tile_release() tk::emulated_release()
#define _tile_zero(t) tk::emulated_zero(t)
#define _tile_loadd(t, from, stride) tk::emulated_loadd(t, from, stride)
#define _tile_stored(t, to, stride) tk::emulated_stored(t, to, stride)
#define _tile_dpbf16ps(c, a, b) tk::emulated_dpbf16ps(c, a, b)
#define _tile_dpbssd(c, a, b) tk::emulated_dpb<int8_t, int8_t>(c, a, b)
#define _tile_dpbsud(c, a, b) tk::emulated_dpb<int8_t, uint8_t>(c, a, b)
#define _tile_dpbusd(c, a, b) tk::emulated_dpb<uint8_t, int8_t>(c, a, b)
#define _tile_dpbuud(c, a, b) tk::emulated_dpb<uint8_t, uint8_t>(c, a, b)
