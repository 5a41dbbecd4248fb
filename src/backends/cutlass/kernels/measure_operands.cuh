// SPDX-License-Identifier: Apache-2.0
// Memory of a measuring program, and the random numbers in it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

namespace tessera::cutlass::measure {

// The device or the program is at fault, no candidate.
[[noreturn]] inline void give_up(const char* what, cudaError_t status) {
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
  std::exit(1);
}
inline void must(cudaError_t status, const char* what) {
  if (status != cudaSuccess) give_up(what, status);
}

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
template <class Integer>
__device__ inline float to_float(Integer x) {
  return float(x);
}
__device__ inline void from_float(float x, float& y) { y = x; }
__device__ inline void from_float(float x, __half& y) { y = __float2half(x); }
__device__ inline void from_float(float x, __nv_bfloat16& y) { y = __float2bfloat16(x); }
__device__ inline void from_float(float x, int32_t& y) { y = int32_t(rintf(x)); }
__device__ inline void from_float(float x, int8_t& y) {
  y = int8_t(fminf(fmaxf(rintf(x), -128.f), 127.f));
}
__device__ inline void from_float(float x, uint8_t& y) {
  y = uint8_t(fminf(rintf(fabsf(x)), 255.f));
}

// Normally distributed, a function of the place and the seed.
__device__ inline float random_number(int64_t place, unsigned seed) {
  unsigned long long bits = (place + 1) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93ull;
  bits = (bits ^ (bits >> 32)) * 0xd6e8feb86659fd93ull;
  bits ^= bits >> 32;
  const float u = (float(bits & 0xffffff) + 1.f) / 16777217.f;
  const float v = float(bits >> 40) / 16777216.f;
  return sqrtf(-2.f * logf(u)) * cospif(2.f * v);
}

template <class T>
__global__ void fill(T* x, int64_t count, float scale, unsigned seed) {
  for (int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x; i < count;
       i += int64_t(gridDim.x) * blockDim.x) {
    from_float(scale * random_number(i, seed), x[i]);
  }
}

template <class T>
T* device_array(int64_t count) {
  void* p = nullptr;
  must(cudaMalloc(&p, std::max<int64_t>(count, 1) * sizeof(T)), "memory for the operands");
  return static_cast<T*>(p);
}
template <class T>
T* random_array(int64_t count, double scale, unsigned seed) {
  T* p = device_array<T>(count);
  fill<<<1024, 256>>>(p, count, float(scale), seed);
  return p;
}

}  // namespace tessera::cutlass::measure
