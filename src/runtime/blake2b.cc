// SPDX-License-Identifier: Apache-2.0
#include "runtime/blake2b.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace tessera::runtime {
namespace {

constexpr std::size_t kBlockBytes = 128, kHashBytes = kHashDigits / 2;

constexpr std::uint64_t kStart[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                     0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                     0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};

constexpr std::uint8_t kOrder[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                                         {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                                         {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                                         {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                                         {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                                         {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                                         {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                                         {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                                         {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                                         {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

constexpr std::uint64_t rotate_right(std::uint64_t x, int by) { return x >> by | x << (64 - by); }

inline void mix(std::uint64_t& a, std::uint64_t& b, std::uint64_t& c, std::uint64_t& d,
                std::uint64_t x, std::uint64_t y) {
  a += b + x;
  d = rotate_right(d ^ a, 32);
  c += d;
  b = rotate_right(b ^ c, 24);
  a += b + y;
  d = rotate_right(d ^ a, 16);
  c += d;
  b = rotate_right(b ^ c, 63);
}

// `count`: bytes up to the end of this block.
void compress(std::uint64_t (&h)[8], const std::uint8_t* block, std::uint64_t count, bool is_last) {
  std::uint64_t m[16], v[16];
  std::memcpy(m, block, sizeof m);  // the machines of tessera count from the low byte on
  std::copy_n(h, 8, v);
  std::copy_n(kStart, 8, v + 8);
  v[12] ^= count;
  if (is_last) v[14] = ~v[14];
#pragma GCC unroll 12
  for (int round = 0; round < 12; ++round) {
    const std::uint8_t(&s)[16] = kOrder[round % 10];
    mix(v[0], v[4], v[8], v[12], m[s[0]], m[s[1]]);
    mix(v[1], v[5], v[9], v[13], m[s[2]], m[s[3]]);
    mix(v[2], v[6], v[10], v[14], m[s[4]], m[s[5]]);
    mix(v[3], v[7], v[11], v[15], m[s[6]], m[s[7]]);
    mix(v[0], v[5], v[10], v[15], m[s[8]], m[s[9]]);
    mix(v[1], v[6], v[11], v[12], m[s[10]], m[s[11]]);
    mix(v[2], v[7], v[8], v[13], m[s[12]], m[s[13]]);
    mix(v[3], v[4], v[9], v[14], m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

}  // namespace

Blake2b::Blake2b(const void* bytes, std::size_t size) {
  const auto* from = static_cast<const std::uint8_t*>(bytes);
  std::uint64_t h[8];
  std::copy_n(kStart, 8, h);
  h[0] ^= 0x01010000 | kHashBytes;
  std::size_t done = 0;
  for (; size - done > kBlockBytes; done += kBlockBytes) {
    compress(h, from + done, done + kBlockBytes, false);
  }
  std::uint8_t last[kBlockBytes] = {};
  if (size > done) std::memcpy(last, from + done, size - done);
  compress(h, last, size, true);
  for (std::size_t i = 0; i < kHashBytes; ++i) {
    std::snprintf(text + 2 * i, 3, "%02x", static_cast<unsigned>(h[i / 8] >> 8 * (i % 8) & 0xff));
  }
}

}  // namespace tessera::runtime
