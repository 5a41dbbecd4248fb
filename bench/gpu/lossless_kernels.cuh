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

// Codes that begin before `end` from the one at `at` on.
struct Walk {
  std::uint32_t at, count;
};
__device__ inline Walk walk(const std::uint16_t* about, const std::uint32_t* words,
                            std::uint32_t at, std::uint32_t end) {
  std::uint32_t count = 0;
  while (at + 2 * kLookBits <= end) {
    const std::uint32_t bits = bits_at(words, at);
    const std::uint32_t a = about[bits & kLookMask], used = a >> 4 & 15;
    const std::uint32_t b = about[bits >> used & kLookMask];
    count += (a & 15) + (b & 15);
    at += used + (b >> 4 & 15);
  }
  for (; at < end; ++count) at += about[bits_at(words, at) & kLookMask] >> 8;
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
  const std::uint16_t* about = room.looks.about;
  const std::uint32_t bits = (last - first + kStreamThreads - 1) / kStreamThreads;
  std::uint32_t begin = min(first + threadIdx.x * bits, last);
  const std::uint32_t end = min(begin + bits, last);
  Walk own = walk(about, words, begin, end);
  room.ends[threadIdx.x] = own.at;
  __syncthreads();
  for (;;) {
    const std::uint32_t from = threadIdx.x == 0 ? first : room.ends[threadIdx.x - 1];
    __syncthreads();
    std::uint32_t a = from, b = begin, more = 0;
    while (a != b && min(a, b) < end) {
      std::uint32_t& behind = a < b ? a : b;
      more += a < b ? 1u : ~0u;
      behind += about[bits_at(words, behind) & kLookMask] >> 8;
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

// Words of four symbols; the first and the last may be other threads', too.
struct Writer {
  std::uint32_t* out;
  std::uint32_t word, fill,
      others;  // bytes in `held`, of which the first are none of this thread's
  std::uint64_t held = 0;

  __device__ Writer(std::uint32_t* to, std::uint32_t first)
      : out(to), word(first / 4), fill(first % 4), others(first % 4) {}
  __device__ void put(std::uint32_t symbols, std::uint32_t count) {
    held |= std::uint64_t{symbols} << (8 * fill);
    fill += count;
    if (fill < 4) return;
    if (others == 0) {
      out[word] = static_cast<std::uint32_t>(held);
    } else {
      put_bytes(4);
    }
    ++word;
    held >>= 32;
    fill -= 4;
  }
  __device__ void put_bytes(std::uint32_t end) {
    auto* bytes = reinterpret_cast<unsigned char*>(out + word);
    for (; others < end; ++others) bytes[others] = static_cast<unsigned char>(held >> (8 * others));
    others = 0;
  }
  __device__ void finish() { put_bytes(fill); }
};

__device__ inline void decode(Room& room, const std::uint32_t* words, const Share& share) {
  Writer out(room.exponents, share.first);
  std::uint32_t at = share.at, left = share.count;
  while (left >= 8) {
    const std::uint32_t bits = bits_at(words, at);
    const std::uint32_t i = bits & kLookMask, a = room.looks.about[i], used = a >> 4 & 15;
    out.put(room.looks.symbols[i], a & 15);
    const std::uint32_t j = bits >> used & kLookMask, b = room.looks.about[j];
    out.put(room.looks.symbols[j], b & 15);
    left -= (a & 15) + (b & 15);
    at += used + (b >> 4 & 15);
  }
  for (; left > 0; --left) {
    const std::uint32_t i = bits_at(words, at) & kLookMask;
    out.put(room.looks.symbols[i] & 255, 1);
    at += room.looks.about[i] >> 8;
  }
  out.finish();
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
__device__ inline float dot(uint2 w, uint2 x) {
  return low_half(w.x) * low_half(x.x) + high_half(w.x) * high_half(x.x) +
         (low_half(w.y) * low_half(x.y) + high_half(w.y) * high_half(x.y));
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
    product_of_packed(Weight w, const uint2* x, __nv_bfloat16* y) {
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
  for (int i = threadIdx.x; i < kLooks; i += kSerialThreads) {
    looks.symbols[i] = w.looks->symbols[i];
    looks.about[i] = w.looks->about[i];
  }
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
        const std::uint32_t i = bits_at(words, at) & kLookMask, about = looks.about[i];
        const std::uint32_t left = static_cast<std::uint32_t>(kTerms - k);
        symbols = looks.symbols[i];
        count = (about & 15) > left ? 1 : about & 15;  // no look goes over a column's end
        at += (about & 15) > left ? about >> 8 : about >> 4 & 15;
      }
      const std::uint32_t turned = (symbols & 255) << 8 | w.bytes[s.low + done];
      sum += __uint_as_float((turned >> 1 | turned << 15) << 16) * __bfloat162float(x[k]);
    }
    y[number * kStreamColumns + column] = __float2bfloat16(sum);
  }
}

}  // namespace bench
