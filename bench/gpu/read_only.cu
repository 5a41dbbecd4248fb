// SPDX-License-Identifier: Apache-2.0
// Reads memory as fast as a kernel can that does nothing else: what products of few rows are
// compared with. Made by few_bits.py --prepare, as a shared library.
#include <cuda_runtime.h>
#include <stdint.h>

namespace {

constexpr int kThreads = 256, kAtOnce = 4;

__global__ void __launch_bounds__(kThreads) read_all(const uint4* from, int64_t count,
                                                     uint32_t* out) {
  uint32_t all = 0;
  const int64_t stride = int64_t{gridDim.x} * kThreads * kAtOnce;
  for (int64_t i = int64_t{blockIdx.x} * kThreads * kAtOnce + threadIdx.x; i < count; i += stride) {
    uint4 v[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      const int64_t at = i + k * kThreads;
      v[k] = at < count ? __ldcs(from + at) : uint4{};
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) all ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
  }
  if (all == 0x12345679u) *out = all;  // hardly ever, but no compiler knows
}

}  // namespace

extern "C" int read_only(const void* from, int64_t bytes, void* out, int blocks, void* stream) {
  read_all<<<blocks, kThreads, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const uint4*>(from), bytes / 16, static_cast<uint32_t*>(out));
  return static_cast<int>(cudaGetLastError());
}
