// SPDX-License-Identifier: Apache-2.0
// Does it pay to unpack weights in the kernel that multiplies by them? A product of one row with
// 4096 x 14336 weights in bfloat16 of a normal distribution, 32 matrices of their own in a replayed
// graph: as they are, packed without loss (runtime/lossless/format.h) and unpacked in the kernel,
// and in a form of fixed lengths. Beside it, how fast a kernel unpacks to memory, which is what
// doing so at load would take.
//
//   bench/gpu/lossless.sh FOLDER && FOLDER/lossless_product
//
// Unpacked weights are compared bit for bit, products with those of plain weights. Exit status 1 if
// something differs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "fixed_exponents.cuh"
#include "lossless_kernels.cuh"
#include "read_all.cuh"
#include "replayed_layers.cuh"
#include "tessera/call.h"
#include "tessera/kernel_cuda.cuh"

namespace {

using namespace bench;

constexpr int kLayers = 32, kColumns = 14336, kDistinct = 4;  // matrices; others are copies of them
constexpr std::size_t kNumbers = std::size_t{kColumns} * kTerms;

struct Matrix {
  std::vector<std::uint16_t> plain;
  Packed packed;
  FixedForm fixed;
};

struct Layer {
  tk::bfloat16* plain;
  Weight packed, indexed;
  FixedWeight fixed;
};

struct Memory {
  std::vector<Matrix> matrices{kDistinct};
  std::vector<Layer> layers;
  tk::bfloat16 *x, *y;  // y: of all layers
  const float4* wide_x;
  uint2* unpacked;  // of kDistinct layers
  std::uint32_t room;
  cudaStream_t stream;
  bool is_right = true;
};

template <class T>
T* upload(const std::vector<T>& values, std::size_t spare_bytes = 0) {
  T* out = nullptr;
  check(cudaMalloc(&out, values.size() * sizeof(T) + spare_bytes));
  check(cudaMemcpy(out, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return out;
}

std::vector<float> widened(const std::vector<std::uint16_t>& bits) {
  std::vector<float> out;
  for (const std::uint32_t b : bits) {
    const std::uint32_t wide = b << 16;
    out.push_back(0);
    std::memcpy(&out.back(), &wide, sizeof wide);
  }
  return out;
}

Layer upload_layer(const Matrix& m) {
  Layer layer = {};
  layer.plain = reinterpret_cast<tk::bfloat16*>(upload(m.plain));
  layer.packed = {upload(m.packed.bytes, 64), upload(m.packed.streams), nullptr,
                  upload(std::vector<Looks>{m.packed.looks})};
  layer.indexed = layer.packed;
  layer.indexed.begins = upload(m.packed.begins);
  layer.fixed = {upload(m.fixed.words), reinterpret_cast<const uint4*>(upload(m.fixed.bytes)),
                 upload(m.fixed.begins), upload(m.fixed.others), m.fixed.first};
  return layer;
}

void make(Memory& m) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kDistinct; ++i) {
    threads.emplace_back([&, i] {
      Matrix& matrix = m.matrices[static_cast<std::size_t>(i)];
      matrix.plain = normal_weights(kColumns, static_cast<std::uint32_t>(i + 1));
      matrix.packed = packed(matrix.plain);
      matrix.fixed = fixed_form(matrix.plain);
    });
  }
  for (std::thread& t : threads) t.join();
  for (int i = 0; i < kLayers; ++i) {
    m.layers.push_back(upload_layer(m.matrices[static_cast<std::size_t>(i % kDistinct)]));
  }
  std::uint32_t longest = 0;
  for (const Matrix& matrix : m.matrices) {
    for (const Stream& s : matrix.packed.streams) longest = std::max(longest, s.bytes);
  }
  m.room = room_bytes(longest);
  const std::vector<std::uint16_t> x = normal_weights(1, 99);
  m.x = reinterpret_cast<tk::bfloat16*>(upload(x));
  m.wide_x = reinterpret_cast<const float4*>(upload(widened(x)));
  check(cudaMalloc(&m.y, sizeof *m.y * kColumns * kLayers));
  check(cudaMalloc(&m.unpacked, kNumbers * 2 * kDistinct));
  check(cudaStreamCreate(&m.stream));
}

__global__ void __launch_bounds__(256)
    plain_product(const tk::bfloat16* x, const tk::bfloat16* w, tk::bfloat16* y) {
  constexpr int kOfBlock = 16;
  const std::int64_t column = std::int64_t{blockIdx.x} * kOfBlock;
  const tk::rows_of<kTerms, tk::bfloat16> m{w + column * kTerms,
                                            static_cast<int>(kColumns - column)};
  m.template prefetch<kOfBlock>();
  __shared__ alignas(16) float sums[16 * kOfBlock];
  tk::few_rows<256, kOfBlock, kTerms>(sums, 1, x, m);
  __syncthreads();
  if (threadIdx.x < kOfBlock) y[column + threadIdx.x] = tk::bfloat16(sums[threadIdx.x]);
}

double time(const Memory& m, const std::function<void(int)>& launch) {
  return replayed_us(m.stream, kLayers, launch);
}

// What a kernel reads, read by one that does nothing else.
double reading(const Memory& m, std::uint64_t bytes) {
  double least = 1e9;
  for (const unsigned blocks : {264u, 528u, 1056u, 2112u}) {
    least = std::min(
        least, time(m, [&](int layer) {
          const auto* from =
              reinterpret_cast<const uint4*>(m.layers[static_cast<std::size_t>(layer)].plain);
          read_all<<<blocks, kReaders, 0, m.stream>>>(from, static_cast<std::int64_t>(bytes / 16),
                                                      reinterpret_cast<std::uint32_t*>(m.y));
        }));
  }
  return least;
}

std::vector<float> results(const Memory& m) {
  std::vector<std::uint16_t> bits(std::size_t{kColumns} * kLayers);
  check(cudaMemcpy(bits.data(), m.y, bits.size() * 2, cudaMemcpyDeviceToHost));
  return widened(bits);
}

struct Row {
  const char* name;
  std::uint64_t bytes;  // that it reads
  double plain_us;      // 0: it is the plain product
};

double product(Memory& m, const Row& row, std::vector<float>& wanted,
               const std::function<void(const Layer&, tk::bfloat16*)>& launch) {
  check(cudaMemset(m.y, 0xff, sizeof *m.y * kColumns * kLayers));
  const double us = time(m, [&](int layer) {
    launch(m.layers[static_cast<std::size_t>(layer)], m.y + std::size_t{kColumns} * layer);
  });
  const std::vector<float> got = results(m);
  if (wanted.empty()) wanted = got;
  double most = 0, largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double off = std::abs(double{got[i]} - wanted[i]);
    most = std::max(most, off == off ? off : 1e30);
    largest = std::max(largest, std::abs(double{wanted[i]}));
  }
  const bool is_right = largest > 0 && most / largest < 8e-3;
  m.is_right &= is_right;
  const double reads = reading(m, row.bytes);
  std::printf("%-52s %7.1f MB %9.2f us  reading takes %6.2f us", row.name, row.bytes / 1e6, us,
              reads);
  if (row.plain_us > 0) std::printf("  %.2f of plain", us / row.plain_us);
  std::printf("  off %.1e%s\n", most / largest, is_right ? "" : " WRONG");
  return us;
}

void unpacking(Memory& m, const char* name, Weight Layer::*form) {
  check(cudaMemset(m.unpacked, 0, kNumbers * 2 * kDistinct));
  const double us = time(m, [&](int layer) {
    const Layer& l = m.layers[static_cast<std::size_t>(layer)];
    uint2* out = m.unpacked + kNumbers / 4 * static_cast<std::size_t>(layer % kDistinct);
    unpack<<<kNumbers / kStreamSymbols, kStreamThreads, m.room, m.stream>>>(l.*form, out);
  });
  bool is_right = true;
  std::vector<std::uint16_t> got(kNumbers);
  for (std::size_t i = 0; i < kDistinct; ++i) {
    check(cudaMemcpy(got.data(), m.unpacked + kNumbers / 4 * i, kNumbers * 2,
                     cudaMemcpyDeviceToHost));
    is_right &= got == m.matrices[i].plain;
  }
  m.is_right &= is_right;
  std::printf("%-52s %9.2f us  %.0f GB/s of weights, bits %s\n", name, us, kNumbers * 2 / us / 1000,
              is_right ? "equal" : "WRONG");
}

void products(Memory& m) {
  std::vector<float> wanted;
  const Matrix& first = m.matrices[0];
  const std::uint64_t of_packed = first.packed.bytes.size();
  const std::uint64_t of_index = of_packed + 4 * first.packed.begins.size();
  const unsigned streams = kNumbers / kStreamSymbols;
  const double plain =
      product(m, {"plain", kNumbers * 2, 0}, wanted, [&](const Layer& l, tk::bfloat16* y) {
        plain_product<<<kColumns / 16, 256, 0, m.stream>>>(m.x, l.plain, y);
      });
  product(m, {"packed, a thread a stream", of_packed, plain}, wanted,
          [&](const Layer& l, tk::bfloat16* y) {
            product_of_streams<<<(streams + kSerialThreads - 1) / kSerialThreads, kSerialThreads, 0,
                                 m.stream>>>(l.packed, static_cast<int>(streams), m.x, y);
          });
  product(m, {"packed, a block a stream, places found each time", of_packed, plain}, wanted,
          [&](const Layer& l, tk::bfloat16* y) {
            product_of_packed<<<streams, kStreamThreads, m.room, m.stream>>>(l.packed, m.wide_x, y);
          });
  product(m, {"packed, a block a stream, places of an index", of_index, plain}, wanted,
          [&](const Layer& l, tk::bfloat16* y) {
            product_of_packed<<<streams, kStreamThreads, m.room, m.stream>>>(l.indexed, m.wide_x,
                                                                             y);
          });
  const std::uint64_t of_fixed = first.fixed.size();
  product(m, {"exponents in three bits, 4 columns a warp", of_fixed, plain}, wanted,
          [&](const Layer& l, tk::bfloat16* y) {
            product_of_fixed<4><<<kColumns / 16, 128, 0, m.stream>>>(l.fixed, m.x, y);
          });
  product(m, {"exponents in three bits, 2 columns a warp", of_fixed, plain}, wanted,
          [&](const Layer& l, tk::bfloat16* y) {
            product_of_fixed<2><<<kColumns / 8, 128, 0, m.stream>>>(l.fixed, m.x, y);
          });
  std::printf("ratio: packed %.4f, with index %.4f, three bits %.4f\n",
              static_cast<double>(of_packed) / (kNumbers * 2),
              static_cast<double>(of_index) / (kNumbers * 2),
              static_cast<double>(of_fixed) / (kNumbers * 2));
}

void tell(const char* name, const void* kernel, std::uint32_t shared, int threads) {
  cudaFuncAttributes about;
  check(cudaFuncGetAttributes(&about, kernel));
  int blocks = 0;
  check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
  std::printf("%s: %d registers, %d blocks of %d threads a processor\n", name, about.numRegs,
              blocks, threads);
}

}  // namespace

int main() {
  Memory m;
  make(m);
  for (const void* kernel :
       {reinterpret_cast<const void*>(product_of_packed), reinterpret_cast<const void*>(unpack)}) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(m.room)));
  }
  tell("product_of_packed", reinterpret_cast<const void*>(product_of_packed), m.room, 256);
  tell("unpack", reinterpret_cast<const void*>(unpack), m.room, 256);
  tell("product_of_fixed<4>", reinterpret_cast<const void*>(product_of_fixed<4>), 0, 128);
  tell("product_of_fixed<2>", reinterpret_cast<const void*>(product_of_fixed<2>), 0, 128);
  products(m);
  unpacking(m, "unpacked to memory, places found each time", &Layer::packed);
  unpacking(m, "unpacked to memory, places of an index", &Layer::indexed);
  return m.is_right ? 0 : 1;
}
