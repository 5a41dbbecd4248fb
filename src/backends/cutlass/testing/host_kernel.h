// SPDX-License-Identifier: Apache-2.0
// For tests: loops on the host in place of a kernel, so that what the functions of regions hand
// over is read as a kernel reads it. All tensors are of float32.
#pragma once

#include <cstdio>
#include <utility>
#include <vector>

#include "backends/cutlass/kernels/gemm.h"

namespace tessera::cutlass {

// As in elementwise.cuh.
struct HostWords {
  static float relu(float x) { return x < 0 ? 0 : x; }
};
template <class T>
struct Row {
  static int64_t offset(const EpilogueInput&, int64_t, int64_t column) { return column; }
};
template <class T>
struct Column {
  static int64_t offset(const EpilogueInput&, int64_t row, int64_t) { return row; }
};
template <class T>
struct Full {
  static int64_t offset(const EpilogueInput& x, int64_t row, int64_t column) {
    return row * x.row_stride + column;
  }
};
template <class T>
struct Scalar {
  static int64_t offset(const EpilogueInput&, int64_t, int64_t) { return 0; }
};
template <class T>
struct Repeated : Full<T> {};

inline float* matrix(const Matrix& m, int64_t batch) {
  return static_cast<float*>(m.data) + batch * m.batch_stride;
}

template <class... Inputs>
struct InputList {
  template <class Function, size_t... kPositions>
  static float apply(float sum, const GemmArguments& g, int64_t batch, int64_t row, int64_t column,
                     std::index_sequence<kPositions...>) {
    return Function::element(
        sum,
        matrix(g.inputs[kPositions], batch)[Inputs::offset(g.inputs[kPositions], row, column)]...);
  }
};

template <class Function, bool kAIsColumnMajor, bool kBIsRowMajor>
int32_t run_on_host(const GemmArguments& g) {
  for (int64_t batch = 0; batch < g.batch; ++batch) {
    const float *a = matrix(g.a, batch), *b = matrix(g.b, batch);
    for (int64_t row = 0; row < g.m; ++row) {
      for (int64_t column = 0; column < g.n; ++column) {
        float sum = 0;
        for (int64_t k = 0; k < g.k; ++k) {
          sum += a[kAIsColumnMajor ? k * g.a.row_stride + row : row * g.a.row_stride + k] *
                 b[kBIsRowMajor ? k * g.b.row_stride + column : column * g.b.row_stride + k];
        }
        matrix(g.d, batch)[row * g.d.row_stride + column] =
            Function::Inputs::template apply<Function>(sum, g, batch, row, column,
                                                       typename Function::Positions());
      }
    }
  }
  return 0;
}

// Small integers, so that sums are exact.
inline float host_value(int64_t tensor, int64_t element) {
  return static_cast<float>((element * 37 + tensor * 11) % 17 - 8);
}

// Calls the region's function with such inputs, and prints its result's elements in a line; the
// last shape is the result's.
inline void print_region(tessera_backend_fn function, std::vector<std::vector<int64_t>> shapes) {
  std::vector<std::vector<float>> values;
  std::vector<tessera_tensor> tensors(shapes.size());
  std::vector<tessera_tensor*> pointers;
  for (size_t i = 0; i < shapes.size(); ++i) {
    int64_t count = 1;
    for (const int64_t size : shapes[i]) count *= size;
    values.emplace_back();
    for (int64_t j = 0; j < count; ++j) values[i].push_back(host_value(int64_t(i), j));
    tensors[i].data = values[i].data();
    tensors[i].ndim = int32_t(shapes[i].size());
    tensors[i].shape = shapes[i].data();
    pointers.push_back(&tensors[i]);
  }
  const tessera_call call = {};
  function(&call, pointers.data(), int32_t(pointers.size()));
  for (const float value : values.back()) printf("%g ", value);
  printf("\n");
}

}  // namespace tessera::cutlass
