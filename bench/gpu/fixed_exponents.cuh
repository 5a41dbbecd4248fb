// SPDX-License-Identifier: Apache-2.0
// A product with weights whose exponents have codes of three bits (FixedForm of
// lossless_weights.h): the same numbers in a form in which every term has its place.
#pragma once

#include "lossless_kernels.cuh"

namespace bench {

struct FixedWeight {
  const std::uint32_t* words;
  const uint4* bytes;
  const std::uint32_t *begins, *others;
  std::uint32_t first;
};

constexpr int kGroups = kTerms / 32;

// The codes of pair `p` in the halves of a word.
__device__ inline std::uint32_t codes_of_pair(const std::uint32_t (&w)[3], int p) {
  if (p < 15) return w[p / 5] >> (p % 5 * 3) & 0x00070007u;
  return (w[0] >> 15 & 0x00010001u) | (w[1] >> 14 & 0x00020002u) | (w[2] >> 13 & 0x00040004u);
}

__device__ inline float fixed_number(std::uint32_t byte, std::uint32_t exponent) {
  return __uint_as_float((byte & 128) << 24 | exponent << 23 | (byte & 127) << 16);
}

// What a group of 32 terms adds, those of other exponents taken as if their code were meant.
__device__ inline float dot_of_group(const std::uint32_t (&words)[3], const uint4 (&bytes)[2],
                                     const float (&x)[32], std::uint32_t firsts) {
  const std::uint32_t eights[8] = {bytes[0].x, bytes[0].y, bytes[0].z, bytes[0].w,
                                   bytes[1].x, bytes[1].y, bytes[1].z, bytes[1].w};
  float sums[2] = {};
#pragma unroll
  for (int p = 0; p < 16; ++p) {
    const std::uint32_t exponents = codes_of_pair(words, p) * 128 + firsts;
    const std::uint32_t twice = __byte_perm(eights[p / 2], 0, p % 2 == 0 ? 0x1100 : 0x3322);
    const std::uint32_t pair = (twice & 0x807f807fu) | exponents;
    sums[0] += low_half(pair) * x[2 * p];
    sums[1] += high_half(pair) * x[2 * p + 1];
  }
  return sums[0] + sums[1];
}

__device__ inline float dot_of_others(const FixedWeight& w, int column, const __nv_bfloat16* x) {
  const auto* bytes =
      reinterpret_cast<const unsigned char*>(w.bytes) + std::size_t(column) * kTerms;
  float sum = 0;
  for (unsigned i = w.begins[column] + threadIdx.x % 32; i < w.begins[column + 1]; i += 32) {
    const std::uint32_t other = w.others[i], k = other >> 8, group = k / 32, term = k % 32;
    const std::uint32_t byte = bytes[(term / 16 * kGroups + group) * 16 + term % 16];
    sum += (fixed_number(byte, other & 255) - fixed_number(byte, w.first)) * __bfloat162float(x[k]);
  }
  return sum;
}

// kColumns a warp.
template <int kColumns>
__global__ void __launch_bounds__(128)
    product_of_fixed(FixedWeight w, const __nv_bfloat16* x, __nv_bfloat16* y) {
  const int lane = threadIdx.x % 32;
  const int column = static_cast<int>(blockIdx.x * 4 + threadIdx.x / 32) * kColumns;
  const std::uint32_t firsts = w.first * 128 * 0x10001u;
  float sums[kColumns] = {};
#pragma unroll 1
  for (int group = lane; group < kGroups; group += 32) {
    std::uint32_t words[kColumns][3];
    uint4 bytes[kColumns][2];
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const std::size_t at = std::size_t(column + c) * kGroups;
#pragma unroll
      for (int i = 0; i < 3; ++i) words[c][i] = __ldcs(w.words + at * 3 + i * kGroups + group);
#pragma unroll
      for (int i = 0; i < 2; ++i) bytes[c][i] = __ldg(w.bytes + at * 2 + i * kGroups + group);
    }
    float of_x[32];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 eight = __ldg(reinterpret_cast<const uint4*>(x) + group * 4 + i);
      const std::uint32_t pairs[4] = {eight.x, eight.y, eight.z, eight.w};
#pragma unroll
      for (int p = 0; p < 4; ++p) {
        of_x[i * 8 + p * 2] = low_half(pairs[p]);
        of_x[i * 8 + p * 2 + 1] = high_half(pairs[p]);
      }
    }
#pragma unroll
    for (int c = 0; c < kColumns; ++c) sums[c] += dot_of_group(words[c], bytes[c], of_x, firsts);
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    float sum = sums[c] + dot_of_others(w, column + c, x);
    for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == 0) y[column + c] = __float2bfloat16(sum);
  }
}

}  // namespace bench
