// SPDX-License-Identifier: Apache-2.0
// Kernels over weights in bfloat16 as runtime/lossless/format.h packs them: a block of threads
// takes a stream, 8 columns of 4096 terms, and each thread a share of its codes.
//
// A share of a stream begins in the midst of nothing. Codes of Huffman's find themselves again
// after some: each thread decodes from the first bit of its share, and then looks from where the
// thread before ended until both ways meet. With an index, that is found once when a weight is
// loaded.
#pragma once

#include <cstdint>

#include <cuda_bf16.h>

#include "lossless_weights.h"

namespace bench {

constexpr int kStreamColumns = kStreamSymbols / kTerms;
constexpr std::uint32_t kLookMask = kLooks - 1;

struct Weight {
  const unsigned char* bytes;
  const Stream* streams;
  const std::uint32_t* begins;  // null: to be found
  const Looks* looks;
};

struct Room {
  Looks looks;
  std::uint32_t exponents[kStreamSymbols / 4];
  std::uint32_t ends[kStreamThreads], sums[kStreamThreads / 32];
};
constexpr std::uint32_t kQuadsOver = 2;  // what may be read beyond a stream

__host__ __device__ inline std::uint32_t room_bytes(std::uint32_t most_stream_bytes) {
  return static_cast<std::uint32_t>(sizeof(Room)) + (most_stream_bytes / 16 + 2 + kQuadsOver) * 16;
}

__device__ inline std::uint32_t bits_at(const std::uint32_t* words, std::uint32_t at) {
  return __funnelshift_r(words[at / 32], words[at / 32 + 1], at % 32);
}

__device__ inline std::uint32_t first_bits(const Looks& looks, const std::uint32_t* words,
                                           std::uint32_t at) {
  return looks.of[bits_at(words, at) & kLookMask].about >> 8 & 255;
}

// Codes that begin before `end` from the one at `at` on.
struct Walk {
  std::uint32_t at, count;
};
__device__ inline Walk walk(const Looks& looks, const std::uint32_t* words, std::uint32_t at,
                            std::uint32_t end) {
  std::uint32_t bits_of_symbols = 0;
  while (at + 2 * kLookBits <= end) {
    const std::uint32_t bits = bits_at(words, at);
    const std::uint32_t a = looks.of[bits & kLookMask].about;
    const std::uint32_t b = looks.of[bits >> (a >> 16) & kLookMask].about;
    bits_of_symbols += (a & 255) + (b & 255);
    at += (a >> 16) + (b >> 16);
  }
  std::uint32_t count = bits_of_symbols / 8;
  for (; at < end; ++count) at += first_bits(looks, words, at);
  return {at, count};
}

// A thread's share: from which bit on, how many symbols, and which is the first.
struct Share {
  std::uint32_t at, count, first;
};

// The sum of what the threads before have.
__device__ inline std::uint32_t sum_before(std::uint32_t* sums, std::uint32_t own) {
  const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  std::uint32_t all = own;
  for (unsigned step = 1; step < 32; step *= 2) {
    const std::uint32_t other = __shfl_up_sync(~0u, all, step);
    if (lane >= step) all += other;
  }
  if (lane == 31) sums[warp] = all;
  __syncthreads();
  std::uint32_t before = all - own;
  for (unsigned w = 0; w < warp; ++w) before += sums[w];
  return before;
}

__device__ inline Share find_share(Room& room, const std::uint32_t* words, std::uint32_t first,
                                   std::uint32_t last) {
  const std::uint32_t bits = (last - first + kStreamThreads - 1) / kStreamThreads;
  std::uint32_t begin = min(first + threadIdx.x * bits, last);
  const std::uint32_t end = min(begin + bits, last);
  Walk own = walk(room.looks, words, begin, end);
  room.ends[threadIdx.x] = own.at;
  __syncthreads();
  for (;;) {
    const std::uint32_t from = threadIdx.x == 0 ? first : room.ends[threadIdx.x - 1];
    __syncthreads();
    std::uint32_t a = from, b = begin, more = 0;
    while (a != b && min(a, b) < end) {
      std::uint32_t& behind = a < b ? a : b;
      more += a < b ? 1u : ~0u;
      behind += first_bits(room.looks, words, behind);
    }
    own.count += more;
    const bool is_new = a != b;  // and both are beyond the end
    if (is_new) room.ends[threadIdx.x] = own.at = a;
    begin = from;
    if (__syncthreads_or(is_new) == 0) break;
  }
  const std::uint32_t before = min(sum_before(room.sums, own.count), kStreamSymbols);
  return {begin, min(own.count, kStreamSymbols - before), before};
}

// Symbols as words of four. Each look stores its word as far as it is known, and none branches:
// threads of a warp stay together.
struct Writer {
  std::uint32_t *out, *end;  // words
  std::uint32_t filled = 0;  // bits of `held`
  std::uint64_t held = 0;

  __device__ void put(const Look& look) {
    held |= std::uint64_t{look.symbols} << filled;
    filled += look.about & 255;
    if (out < end) *out = static_cast<std::uint32_t>(held);
    const bool is_full = filled >= 32 && out < end;
    out += is_full ? 1 : 0;
    held = is_full ? held >> 32 : held;
    filled -= is_full ? 32 : 0;
  }
};

// The first and the last word of a share may be other threads', too: there bytes are stored.
__device__ inline void decode(Room& room, const std::uint32_t* words, Share share) {
  auto* bytes = reinterpret_cast<unsigned char*>(room.exponents);
  for (; share.count > 0 && share.first % 4 != 0; ++share.first, --share.count) {
    const Look look = room.looks.of[bits_at(words, share.at) & kLookMask];
    bytes[share.first] = static_cast<unsigned char>(look.symbols);
    share.at += look.about >> 8 & 255;
  }
  const std::uint32_t last = share.first + share.count;
  Writer writer{room.exponents + share.first / 4, room.exponents + last / 4};
  for (auto left = static_cast<int>(share.count * 8); left > 0;) {
    const std::uint32_t bits = bits_at(words, share.at);
    const Look a = room.looks.of[bits & kLookMask];
    const Look b = room.looks.of[bits >> (a.about >> 16) & kLookMask];
    writer.put(a);
    writer.put(b);
    left -= static_cast<int>((a.about & 255) + (b.about & 255));
    share.at += (a.about >> 16) + (b.about >> 16);
  }
  for (std::uint32_t i = last / 4 * 4; i < last && share.count > 0; ++i, writer.held >>= 8) {
    bytes[i] = static_cast<unsigned char>(writer.held);
  }
}

// Decodes the exponents of the block's stream.
__device__ inline void decode_stream(Room& room, std::uint32_t* words, const Weight& w,
                                     const Stream& s) {
  const auto skip = static_cast<std::uint32_t>(s.at % 16);
  const auto* from = reinterpret_cast<const uint4*>(w.bytes + (s.at - skip));
  const std::uint32_t quads = (skip + s.bytes + 15) / 16 + kQuadsOver;
  for (std::uint32_t i = threadIdx.x; i < quads; i += kStreamThreads) {
    reinterpret_cast<uint4*>(words)[i] = __ldcs(from + i);
  }
#ifdef __CUDA_ARCH__
  const unsigned char* low = w.bytes + s.low + threadIdx.x * 128;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(low));
#endif
  const auto* looks = reinterpret_cast<const uint4*>(w.looks);
  for (unsigned i = threadIdx.x; i < sizeof(Looks) / 16; i += kStreamThreads) {
    reinterpret_cast<uint4*>(&room.looks)[i] = looks[i];
  }
  __syncthreads();
  const std::uint32_t first = skip * 8, last = first + s.bytes * 8;
  Share share;
  if (w.begins != nullptr) {
    share = {first + w.begins[blockIdx.x * kStreamThreads + threadIdx.x], kShareSymbols,
             threadIdx.x * kShareSymbols};
  } else {
    share = find_share(room, words, first, last);
  }
  decode(room, words, share);
  __syncthreads();
}

// Four weights, two in a word.
__device__ inline uint2 joined(std::uint32_t exponents, std::uint32_t low) {
  const auto turned = [](std::uint32_t two) {
    return (two >> 1 & 0x7fff7fffu) | (two << 15 & 0x80008000u);
  };
  return {turned(__byte_perm(low, exponents, 0x5140)), turned(__byte_perm(low, exponents, 0x7362))};
}

__device__ inline std::uint32_t unaligned_word(const unsigned char* bytes, std::uint32_t i) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes);
  const auto* words = reinterpret_cast<const std::uint32_t*>(address / 4 * 4);
  return __funnelshift_r(__ldg(words + i), __ldg(words + i + 1),
                         static_cast<std::uint32_t>(address % 4) * 8);
}

__device__ inline float low_half(std::uint32_t two) { return __uint_as_float(two << 16); }
__device__ inline float high_half(std::uint32_t two) { return __uint_as_float(two & 0xffff0000u); }
__device__ inline float dot(uint2 w, float4 x) {
  return low_half(w.x) * x.x + high_half(w.x) * x.y + (low_half(w.y) * x.z + high_half(w.y) * x.w);
}

extern __shared__ uint4 shared_room[];

// Writes decoded weights.
__global__ void __launch_bounds__(kStreamThreads) unpack(Weight w, uint2* out) {
  auto& room = *reinterpret_cast<Room*>(shared_room);
  const Stream s = w.streams[blockIdx.x];
  decode_stream(room, reinterpret_cast<std::uint32_t*>(&room + 1), w, s);
  out += std::size_t{blockIdx.x} * (kStreamSymbols / 4);
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < kStreamSymbols / 4; i += kStreamThreads) {
    __stcs(out + i, joined(room.exponents[i], unaligned_word(w.bytes + s.low, i)));
  }
}

// y[c] = sum of x[k] * w[c, k], and a warp for each of the 8 columns.
__global__ void __launch_bounds__(kStreamThreads)
    product_of_packed(Weight w, const float4* x, __nv_bfloat16* y) {
  auto& room = *reinterpret_cast<Room*>(shared_room);
  const Stream s = w.streams[blockIdx.x];
  decode_stream(room, reinterpret_cast<std::uint32_t*>(&room + 1), w, s);
  const unsigned lane = threadIdx.x % 32, column = threadIdx.x / 32;
  float sum = 0;
#pragma unroll 8
  for (unsigned i = lane; i < kTerms / 4; i += 32) {
    const unsigned four = column * (kTerms / 4) + i;
    sum += dot(joined(room.exponents[four], unaligned_word(w.bytes + s.low, four)), __ldg(x + i));
  }
  for (unsigned step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
  if (lane == 0) y[blockIdx.x * kStreamColumns + column] = __float2bfloat16(sum);
}

// A thread for a stream, as a CPU does it.
constexpr int kSerialThreads = 32;
__global__ void __launch_bounds__(kSerialThreads)
    product_of_streams(Weight w, int streams, const __nv_bfloat16* x, __nv_bfloat16* y) {
  __shared__ Looks looks;
  for (int i = threadIdx.x; i < kLooks; i += kSerialThreads) looks.of[i] = w.looks->of[i];
  __syncthreads();
  const int number = static_cast<int>(blockIdx.x) * kSerialThreads + threadIdx.x;
  if (number >= streams) return;
  const Stream s = w.streams[number];
  const auto skip = static_cast<std::uint32_t>(s.at % 4);
  const auto* words = reinterpret_cast<const std::uint32_t*>(w.bytes + (s.at - skip));
  std::uint32_t at = skip * 8, done = 0;
  for (int column = 0; column < kStreamColumns; ++column) {
    float sum = 0;
    std::uint32_t symbols = 0, count = 0;
    for (int k = 0; k < kTerms; ++k, ++done, symbols >>= 8, --count) {
      if (count == 0) {
        const Look look = looks.of[bits_at(words, at) & kLookMask];
        const auto left = static_cast<std::uint32_t>(kTerms - k) * 8;
        const bool fits = (look.about & 255) <= left;  // no look goes over a column's end
        symbols = look.symbols;
        count = fits ? (look.about & 255) / 8 : 1;
        at += fits ? look.about >> 16 : look.about >> 8 & 255;
      }
      const std::uint32_t turned = (symbols & 255) << 8 | w.bytes[s.low + done];
      sum += __uint_as_float((turned >> 1 | turned << 15) << 16) * __bfloat162float(x[k]);
    }
    y[number * kStreamColumns + column] = __float2bfloat16(sum);
  }
}

}  // namespace bench
