// SPDX-License-Identifier: Apache-2.0
// How floats are packed without loss. Exponents of weights take few values often, so their bytes
// are written in a prefix code; signs and mantissas are nearly random, and stay as they are.
//
//   packed weight   one BlockRecord a block, then the blocks, one after the other
//   block           a plane for each byte of an element, the most significant first
//   plane           a byte of PlaneKind, then
//     kPlain        the bytes
//     kSame         one byte, which all are
//     kCoded        kCodeBytes: the lengths of the 256 symbols' codes, two in a byte, the even
//                   symbol's in its low half; kStreams sizes of 32 bits; the streams
//   stream          the codes of a quarter of the plane, the first in the lowest bits
//
// Elements are rotated left by one bit before they are cut into bytes: the exponent of bfloat16 and
// float32 is a byte then, and the sign the last bit. Codes are canonical: shorter ones first, those
// of equal length in the order of their symbols. All numbers are little endian.
#pragma once

#include <cstdint>
#include <cstring>

namespace tessera::lossless {

inline constexpr std::uint64_t kBlockElements = 1 << 17;
inline constexpr int kSymbols = 256;
inline constexpr int kCodeBytes = kSymbols / 2;
inline constexpr int kLongestCode = 11;  // bits
inline constexpr int kStreams = 4;       // decoded side by side

enum PlaneKind : std::uint8_t { kPlain, kSame, kCoded };

struct BlockRecord {
  std::uint32_t bytes;
  std::uint32_t pad;  // 0
  std::uint64_t checksum;
};

inline std::uint64_t num_blocks(std::uint64_t elements) {
  return (elements + kBlockElements - 1) / kBlockElements;
}

// Where stream `i` of a plane of `count` bytes begins.
inline std::uint64_t stream_begin(std::uint64_t count, int i) { return count * i / kStreams; }

inline std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t x = (a ^ b) * 0xd6e8feb86659fd93u;
  return x ^ (x >> 32);
}

// Of a block's bytes, and of which block it is. Each step is a bijection: a change within eight
// bytes in a row is always seen, any other but for one in 2^64.
inline std::uint64_t checksum(const unsigned char* bytes, std::uint64_t size, std::uint64_t block) {
  constexpr std::uint64_t kLanes = 4;
  std::uint64_t lanes[kLanes] = {block, size, 1, 2};
  const auto word = [&](std::uint64_t at) {
    std::uint64_t w = 0;
    std::memcpy(&w, bytes + at, size - at < sizeof w ? size - at : sizeof w);
    return w;
  };
  std::uint64_t at = 0;
  for (; at + kLanes * 8 <= size; at += kLanes * 8) {
    for (std::uint64_t i = 0; i < kLanes; ++i) lanes[i] = mixed(lanes[i], word(at + 8 * i));
  }
  for (; at < size; at += 8) lanes[0] = mixed(lanes[0], word(at));
  std::uint64_t sum = 0;
  for (const std::uint64_t lane : lanes) sum = mixed(sum, lane);
  return sum;
}

}  // namespace tessera::lossless
