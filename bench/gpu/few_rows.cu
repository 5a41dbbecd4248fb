// SPDX-License-Identifier: Apache-2.0
// Products of few rows (tessera/few_rows.cuh) in several shapes of block, beside reading the same
// bytes: what few_rows_columns and few_rows_threads (src/tir/few_rows.h) are chosen by.
//
//   nvcc -std=c++20 -O3 -arch=sm_90a -I include bench/gpu/few_rows.cu -o few_rows && ./few_rows
//
// 32 matrices of their own in a replayed graph, float16, groups of 128. Results of each shape are
// compared with the first one's: numbers are what tests/gpu/few_rows.py checks.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include <cuda_fp16.h>

#include "read_all.cuh"
#include "replayed_layers.cuh"
#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

namespace {

using namespace bench;

constexpr int kLayers = 32, kGroup = 128;

struct Memory {
  char* weights;
  tk::float16 *x, *scales, *y;
  cudaStream_t stream;
};

template <int kBits, int kTerms>
struct matrix {
  using type = tk::words<kBits, kGroup, kTerms, tk::float16, tk::centred>;
  static __device__ type at(const char* w, const tk::float16* scales, int64_t column, int) {
    const int64_t tile = column / 16;
    return {reinterpret_cast<const int32_t*>(w) + tile * type::kSteps * 128,
            scales + tile * type::kBlocks * 16,
            {}};
  }
};
template <int kTerms>
struct matrix<16, kTerms> {
  using type = tk::rows_of<kTerms, tk::float16>;
  static __device__ type at(const char* w, const tk::float16*, int64_t column, int columns) {
    return {reinterpret_cast<const tk::float16*>(w) + column * kTerms,
            static_cast<int>(columns - column)};
  }
};

template <int kBits, int kThreads, int kColumns, int kTerms, int kRows>
__global__ void __launch_bounds__(kThreads)
    product(const tk::float16* x, const char* w, const tk::float16* scales, tk::float16* y,
            int columns) {
  const int64_t column = int64_t{blockIdx.x} * kColumns;
  const auto m = matrix<kBits, kTerms>::at(w, scales, column, columns);
  m.template prefetch<kColumns>();
  tk::wait_for_inputs(x, w, scales);
  __shared__ alignas(16) float sums[16 * kColumns];
  tk::few_rows<kThreads, kColumns, kTerms>(sums, kRows, x, m);
  __syncthreads();
  for (int e = static_cast<int>(threadIdx.x); e < kRows * kColumns; e += kThreads) {
    y[int64_t{e / kColumns} * columns + column + e % kColumns] = tk::float16(sums[e]);
  }
}

// Some bits of each number are random, and some are set.
__global__ void fill(uint32_t* p, int64_t count, uint32_t seed, uint32_t random, uint32_t set) {
  for (int64_t i = blockIdx.x * 256 + threadIdx.x; i < count; i += int64_t{gridDim.x} * 256) {
    uint32_t v = static_cast<uint32_t>(i) * 2654435761u + seed;
    v = (v ^ (v >> 15)) * 2246822519u;
    p[i] = ((v ^ (v >> 13)) & random) | set;
  }
}

double time(const Memory& m, const std::function<void(int)>& launch) {
  return replayed_us(m.stream, kLayers, launch);
}

double difference(const std::vector<__half>& a, const std::vector<__half>& b) {
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(double{__half2float(a[i])} - __half2float(b[i])));
    largest = std::max(largest, std::abs(double{__half2float(b[i])}));
  }
  return most / largest;
}

template <int kBits, int kThreads, int kColumns, int kTerms, int kRows>
void one(const Memory& m, int columns, double reading, std::vector<__half>& wanted) {
  const int64_t bytes = int64_t{columns} * kTerms * kBits / 8;
  const int64_t of_y = int64_t{kRows} * columns;
  const auto kernel = product<kBits, kThreads, kColumns, kTerms, kRows>;
  const double us = time(m, [&](int layer) {
    cudaLaunchAttribute dependent;
    dependent.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    dependent.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(static_cast<unsigned>(columns / kColumns));
    config.blockDim = dim3(kThreads);
    config.stream = m.stream;
    config.attrs = &dependent;
    config.numAttrs = 1;
    check(cudaLaunchKernelEx(
        &config, kernel, static_cast<const tk::float16*>(m.x),
        static_cast<const char*>(m.weights + layer * bytes),
        static_cast<const tk::float16*>(m.scales + layer * (int64_t{columns} * kTerms / kGroup)),
        m.y + layer * of_y, columns));
  });
  std::vector<__half> got(static_cast<std::size_t>(of_y));
  check(cudaMemcpy(got.data(), m.y + (kLayers - 1) * of_y, got.size() * 2, cudaMemcpyDeviceToHost));
  if (wanted.empty()) wanted = got;
  cudaFuncAttributes about;
  check(cudaFuncGetAttributes(&about, kernel));
  const double off = difference(got, wanted);
  std::printf(
      "%2d bits, %5d x %5d, %2d rows: %3d threads, %2d columns: %6.2f us, %5.1f %% of "
      "reading, %3d registers%s\n",
      kBits, columns, kTerms, kRows, kThreads, kColumns, us, 100 * reading / us, about.numRegs,
      off < 4e-3 ? "" : " WRONG");
}

template <int kBits, int kTerms, int kRows>
void shapes(const Memory& m, int columns, double reading) {
  std::vector<__half> wanted;
  one<kBits, 256, 16, kTerms, kRows>(m, columns, reading, wanted);
  one<kBits, 512, 16, kTerms, kRows>(m, columns, reading, wanted);
  one<kBits, 256, 32, kTerms, kRows>(m, columns, reading, wanted);
  if constexpr (kBits < 16) one<kBits, 512, 32, kTerms, kRows>(m, columns, reading, wanted);
  if constexpr (kBits < 8) one<kBits, 256, 64, kTerms, kRows>(m, columns, reading, wanted);
}

template <int kBits, int kTerms>
void all_of(const Memory& m, int columns) {
  const int64_t scales = kBits < 16 ? int64_t{columns} * kTerms / kGroup * 2 : 0;
  const int64_t quads = (int64_t{columns} * kTerms * kBits / 8 + scales) / 16;
  double reading = 1e9;
  for (const int blocks : {132, 264, 528, 792, 1056, 2112}) {
    reading = std::min(reading, time(m, [&](int layer) {
                         read_all<<<blocks, kReaders, 0, m.stream>>>(
                             reinterpret_cast<const uint4*>(m.weights) + layer * quads, quads,
                             reinterpret_cast<uint32_t*>(m.y));
                       }));
  }
  std::printf("reading: %.2f us, %.0f GB/s\n", reading, quads * 16 / reading / 1000);
  shapes<kBits, kTerms, 1>(m, columns, reading);
  shapes<kBits, kTerms, 16>(m, columns, reading);
}

}  // namespace

int main() {
  const int64_t numbers = int64_t{kLayers} * 14336 * 4096, bytes = numbers * 2 + (1 << 26);
  Memory m = {};
  check(cudaMalloc(&m.weights, static_cast<std::size_t>(bytes)));
  check(cudaMalloc(&m.scales, static_cast<std::size_t>(numbers / kGroup * 2)));
  check(cudaMalloc(&m.x, 16 * 14336 * 2));
  check(cudaMalloc(&m.y, std::size_t{kLayers} * 16 * 14336 * 2));
  check(cudaStreamCreate(&m.stream));
  const auto as_words = [](void* p) { return static_cast<uint32_t*>(p); };
  fill<<<1024, 256>>>(as_words(m.weights), bytes / 4, 1, 0xbbffbbffu, 0);
  fill<<<1024, 256>>>(as_words(m.scales), numbers / kGroup / 2, 2, 0x03ff03ffu, 0x14001400u);
  fill<<<64, 256>>>(as_words(m.x), 16 * 14336 / 2, 3, 0x83ff83ffu, 0x30003000u);
  check(cudaDeviceSynchronize());
  all_of<4, 4096>(m, 14336);
  all_of<8, 4096>(m, 14336);
  all_of<16, 4096>(m, 14336);
  all_of<4, 14336>(m, 4096);
  all_of<8, 14336>(m, 4096);
  all_of<16, 14336>(m, 4096);
}
