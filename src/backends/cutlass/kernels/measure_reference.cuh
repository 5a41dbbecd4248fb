// SPDX-License-Identifier: Apache-2.0
// A product with its epilogue as it is defined, in float or int32, by a kernel that shares nothing
// with those of CUTLASS: what measured candidates have to agree with.
#pragma once

#include <cstdint>
#include <utility>

#include "backends/cutlass/kernels/gemm.h"
#include "backends/cutlass/kernels/measure_operands.cuh"
#include "backends/cutlass/kernels/measure_window.h"

namespace tessera::cutlass::measure {

// What the function takes: integers of 32 bits as they are, all else as float.
template <class T>
__device__ float operand(T x) {
  return to_float(x);
}
__device__ inline int32_t operand(int32_t x) { return x; }

// The words of elementwise.cuh, exact.
struct Words {
  static __device__ float tanh(float x) { return tanhf(x); }
  static __device__ float sigmoid(float x) { return 1.f / (1.f + expf(-x)); }
  static __device__ float exp(float x) { return expf(x); }
  static __device__ float log(float x) { return logf(x); }
  static __device__ float divide(float x, float y) { return x / y; }
  static __device__ float erf(float x) { return erff(x); }
  static __device__ float relu(float x) { return x < 0.f ? 0.f : x; }
  static __device__ float clip(float x, float low, float high) {
    return x < low ? low : x > high ? high : x;
  }
  static __device__ float minimum(float x, float y) { return y < x ? y : x; }
  static __device__ float maximum(float x, float y) { return y > x ? y : x; }
  static __device__ float abs(float x) { return fabsf(x); }
  static __device__ float sqrt(float x) { return sqrtf(x); }
  static __device__ float rsqrt(float x) { return rsqrtf(x); }
  static __device__ float round(float x) { return rintf(x); }
};

// What the function reads beside the sum: an element a column, a row, an element, or one for all.
template <class T>
struct Row {
  using Element = T;
  static __device__ int64_t offset(const EpilogueInput&, int64_t, int64_t column) { return column; }
  static int64_t elements(const GemmArguments& g) { return g.n; }
};
template <class T>
struct Column {
  using Element = T;
  static __device__ int64_t offset(const EpilogueInput&, int64_t row, int64_t) { return row; }
  static int64_t elements(const GemmArguments& g) { return g.m; }
};
template <class T>
struct Full {
  using Element = T;
  static __device__ int64_t offset(const EpilogueInput& x, int64_t row, int64_t column) {
    return row * x.row_stride + column;
  }
  static int64_t elements(const GemmArguments& g) { return g.m * g.n; }
};
template <class T>
struct Scalar {
  using Element = T;
  static __device__ int64_t offset(const EpilogueInput&, int64_t, int64_t) { return 0; }
  static int64_t elements(const GemmArguments&) { return 1; }
};
template <class T>
struct Repeated : Full<T> {};

template <class Input>
__device__ auto read(const EpilogueInput& x, int64_t batch, int64_t row, int64_t column) {
  const auto* data = static_cast<const typename Input::Element*>(x.data);
  return operand(data[batch * x.batch_stride + Input::offset(x, row, column)]);
}

// As arrays of kinds: Function::element(sum, read of each input ...).
template <class... Inputs>
struct InputList {
  static constexpr int kCount = sizeof...(Inputs);
  template <class Function, class Sum, size_t... kPositions>
  static __device__ float apply(Sum sum, const GemmArguments& g, int64_t batch, int64_t row,
                                int64_t column, std::index_sequence<kPositions...>) {
    return float(Function::element(sum, read<Inputs>(g.inputs[kPositions], batch, row, column)...));
  }
};

constexpr int kSide = 16;  // of a tile

// What is no matrix: A, of an image by a window; A and B of a transposed convolution, whose data
// are the window's places; B, of an image.
enum class Gathered { kNothing, kImage, kPlaces, kImageAsB };

// Data's channels of a transposed convolution.
__device__ inline int64_t data_channels(const GemmArguments& g) {
  return g.k / (int64_t(g.window.rows) * g.window.columns);
}

// Where A[row, k] of one matrix of a batch is; -1 where there is zero.
template <class Problem>
__device__ int64_t place_of_a(const GemmArguments& g, int64_t row, int64_t k) {
  if (Problem::kGathered == Gathered::kImage) return place_in_image(g.window, row, k);
  if (Problem::kGathered == Gathered::kPlaces) {
    return place_in_data(g.window, data_channels(g), row, k);
  }
  return Problem::kAIsColumnMajor ? k * g.a.row_stride + row : row * g.a.row_stride + k;
}
// The same of B[k, column].
template <class Problem>
__device__ int64_t place_of_b(const GemmArguments& g, int64_t k, int64_t column) {
  if (Problem::kGathered == Gathered::kImageAsB) return place_in_image(g.window, k, column);
  if (Problem::kGathered == Gathered::kPlaces) {
    return place_in_transposed_kernel(g.window, data_channels(g), k, column);
  }
  return Problem::kBIsRowMajor ? k * g.b.row_stride + column : column * g.b.row_stride + k;
}

template <class Problem>
__device__ float element_of_a(const GemmArguments& g, const typename Problem::A* a, int64_t row,
                              int64_t k) {
  const int64_t at = row < g.m && k < g.k ? place_of_a<Problem>(g, row, k) : -1;
  return at < 0 ? 0.f : to_float(a[at]);
}
template <class Problem>
__device__ float element_of_b(const GemmArguments& g, const typename Problem::B* b, int64_t k,
                              int64_t column) {
  const int64_t at = column < g.n && k < g.k ? place_of_b<Problem>(g, k, column) : -1;
  return at < 0 ? 0.f : to_float(b[at]);
}

// wanted[batch, m, n]; a block of kSide x kSide threads computes a tile.
template <class Problem, class Function>
__global__ void reference(GemmArguments g, float* wanted) {
  __shared__ float sA[kSide][kSide + 1], sB[kSide][kSide + 1];
  const int64_t row = int64_t(blockIdx.x) * kSide + threadIdx.y;
  const int64_t column = int64_t(blockIdx.y) * kSide + threadIdx.x;
  const int64_t batch = blockIdx.z;
  const auto* a = static_cast<const typename Problem::A*>(g.a.data) + batch * g.a.batch_stride;
  const auto* b = static_cast<const typename Problem::B*>(g.b.data) + batch * g.b.batch_stride;
  // Neighbouring threads read neighbouring elements, whatever the layout.
  const int64_t fast = threadIdx.x, slow = threadIdx.y;
  const int64_t tile_row = int64_t(blockIdx.x) * kSide, tile_column = int64_t(blockIdx.y) * kSide;
  typename Problem::Sum sum = 0;
  for (int64_t k = 0; k < g.k; k += kSide) {
    const int64_t a_row = tile_row + (Problem::kAIsColumnMajor ? fast : slow);
    const int64_t a_k = k + (Problem::kAIsColumnMajor ? slow : fast);
    const int64_t b_column = tile_column + (Problem::kBIsRowMajor ? fast : slow);
    const int64_t b_k = k + (Problem::kBIsRowMajor ? slow : fast);
    sA[a_row - tile_row][a_k - k] = element_of_a<Problem>(g, a, a_row, a_k);
    sB[b_k - k][b_column - tile_column] = element_of_b<Problem>(g, b, b_k, b_column);
    __syncthreads();
    for (int i = 0; i < kSide; ++i) {  // products of integers of eight bits are exact
      sum += typename Problem::Sum(sA[threadIdx.y][i] * sB[i][threadIdx.x]);
    }
    __syncthreads();
  }
  if (row >= g.m || column >= g.n) return;
  const float result = Function::Inputs::template apply<Function>(
      sum, g, batch, row, column, std::make_index_sequence<Function::Inputs::kCount>());
  const bool is_cast = std::is_integral_v<typename Problem::D>;  // which truncates
  wanted[(batch * g.m + row) * g.n + column] = is_cast ? truncf(result) : result;
}

}  // namespace tessera::cutlass::measure
