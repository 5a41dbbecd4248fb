// SPDX-License-Identifier: Apache-2.0
// What tessera/few_rows.cuh is made of, for threads of a CPU: each thread of a block is one, and
// those of a warp meet where they multiply. few_rows.cuh includes this in place of what a GPU has.
#pragma once

#include <algorithm>
#include <barrier>
#include <bit>
#include <cstring>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "support/f16.h"

namespace tk {
template <float (*kValue)(std::uint16_t), void (*kRound)(std::span<const float>, std::uint16_t*)>
struct emulated_half {
  std::uint16_t bits;
  emulated_half() = default;
  explicit emulated_half(float value) { kRound({&value, 1}, &bits); }
  explicit operator float() const { return kValue(bits); }
};
using float16 = emulated_half<tessera::float16_value, tessera::to_float16>;
using bfloat16 = emulated_half<tessera::bfloat16_value, tessera::to_bfloat16>;
}  // namespace tk
#include "tessera/few_rows_numbers.cuh"

#define TK_INLINE inline
#define TK_INLINE_MEMBER
#define TK_SHARED(type, name, count) static type name[count]

namespace tk {

using std::min;

// A block whose threads run at once.
struct emulated_block {
  struct warp {
    std::barrier<> meets{32};
    uint32_t a[32][4], b[32][2];
    const void* rows[32];
  };
  explicit emulated_block(int threads) : all(threads) {
    for (int w = 0; w < threads / 32; ++w) warps.push_back(std::make_unique<warp>());
  }
  std::barrier<> all;
  std::vector<std::unique_ptr<warp>> warps;
};
inline thread_local emulated_block* block_of_thread = nullptr;
inline thread_local int number_of_thread = 0;

template <class F>
void run_block(int threads, const F& body) {
  emulated_block block(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      block_of_thread = &block;
      number_of_thread = t;
      body();
    });
  }
  for (std::thread& t : all) t.join();
}

inline int thread() { return number_of_thread; }
inline void barrier() { block_of_thread->all.arrive_and_wait(); }
inline float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }
inline void meet_warp() {
  block_of_thread->warps[static_cast<std::size_t>(thread() / 32)]->meets.arrive_and_wait();
}
// What has not been waited for is not there: copies are made as late as a device may make them.
struct emulated_copy {
  char* to;
  const void* from;
  bool is_there;
};
inline thread_local std::vector<std::vector<emulated_copy>> groups_of_copies(1);
inline void copy_async(void* to, const void* from, bool is_there) {
  groups_of_copies.back().push_back({static_cast<char*>(to), from, is_there});
}
inline void commit_copies() { groups_of_copies.emplace_back(); }
template <int kGroups>
void wait_for_copies() {
  while (groups_of_copies.size() > kGroups + 1) {
    for (const emulated_copy& c : groups_of_copies.front()) {
      std::memset(c.to, 0, 16);
      if (c.is_there) std::memcpy(c.to, c.from, 16);
    }
    groups_of_copies.erase(groups_of_copies.begin());
  }
}
inline void prefetch_line(const void*) {}

inline uint32_t and_or(uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }

inline uint32_t bfloat16_pair(float low, float high) {
  uint16_t bits[2];
  const float values[2] = {low, high};
  tessera::to_bfloat16(values, bits);
  return bits[0] | static_cast<uint32_t>(bits[1]) << 16;
}

template <class Half>
float half_value(uint32_t pair, int which) {
  const auto bits = static_cast<uint16_t>(pair >> (16 * which));
  return half_form<Half>::kDigits == 10 ? tessera::float16_value(bits)
                                        : tessera::bfloat16_value(bits);
}

template <class Half>
uint32_t fma_pair(uint32_t a, uint32_t b, uint32_t c) {
  uint16_t bits[2];
  float values[2];
  for (int i = 0; i < 2; ++i) {
    values[i] = half_value<Half>(a, i) * half_value<Half>(b, i) + half_value<Half>(c, i);
  }
  half_form<Half>::kDigits == 10 ? tessera::to_float16(values, bits)
                                 : tessera::to_bfloat16(values, bits);
  return bits[0] | static_cast<uint32_t>(bits[1]) << 16;
}

// As PTX describes the fragments of mma.m16n8k16: `a0` to `a3` are row lane / 4 and the one eight
// further, at columns 2 (lane % 4), then both eight columns on.
template <class Half>
void multiply_add(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0,
                  uint32_t b1) {
  emulated_block::warp& warp = *block_of_thread->warps[static_cast<std::size_t>(thread() / 32)];
  const int lane = thread() % 32;
  const uint32_t a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
  std::copy_n(a, 4, warp.a[lane]);
  std::copy_n(b, 2, warp.b[lane]);
  warp.meets.arrive_and_wait();
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
    for (int k = 0; k < 16; ++k) {
      const int of_a = row % 8 * 4 + k % 8 / 2, of_b = column * 4 + k % 8 / 2;
      c[i] += half_value<Half>(warp.a[of_a][row / 8 + k / 8 * 2], k % 2) *
              half_value<Half>(warp.b[of_b][k / 8], k % 2);
    }
  }
  warp.meets.arrive_and_wait();
}

// Lane 8 i + r has said where row r of matrix i is: two numbers of each are this lane's.
template <bool kAcross>
void load_matrices_as(uint32_t (&to)[4], const void* row) {
  emulated_block::warp& warp = *block_of_thread->warps[static_cast<std::size_t>(thread() / 32)];
  const int lane = thread() % 32;
  warp.rows[lane] = row;
  warp.meets.arrive_and_wait();
  for (int i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (int j = 0; j < 2; ++j) {
      const int from = kAcross ? lane % 4 * 2 + j : lane / 4,
                at = kAcross ? lane / 4 : lane % 4 * 2 + j;
      std::memcpy(&pair[j], static_cast<const char*>(warp.rows[i * 8 + from]) + at * 2, 2);
    }
    to[i] = pair[0] | static_cast<uint32_t>(pair[1]) << 16;
  }
  warp.meets.arrive_and_wait();
}
inline void load_matrices(uint32_t (&to)[4], const void* row) { load_matrices_as<false>(to, row); }
inline void load_matrices_across(uint32_t (&to)[4], const void* row) {
  load_matrices_as<true>(to, row);
}

}  // namespace tk
