// SPDX-License-Identifier: Apache-2.0
// How a region's function calls a matrix kernel: D[b,m,n] = f(sum over k of A[b,m,k] B[b,n,k],
// ...). The function knows sizes and places, the kernel types, tiles and f. Sizes are arguments, so
// that one kernel serves all regions of its types and configuration.
#pragma once

#include <stdint.h>

#include "tessera/call.h"

namespace tessera::cutlass {

constexpr int kMaxGemmInputs = 8;
// Of a grid along y, and along z, at most, on every device that CUDA knows.
constexpr unsigned kMostBlocksOfGrid = 65535;

// A matrix of the product, on the device. Strides in elements.
struct Matrix {
  void* data;
  int64_t row_stride;    // between rows; between columns where the kernel's layout is column-major
  int64_t batch_stride;  // 0: every batch has the same
};

// Where A is no matrix: its rows are what a window sees of an image [batch, height, width,
// channels] as it slides over it, [rows, columns, channels]; those of D are the window's places,
// [batch, out_height, out_width].
struct Window {
  int32_t batch, height, width, channels;
  int32_t rows, columns;
  int32_t out_height, out_width;
  int32_t strides[2], dilation[2];
  int32_t padding[4];  // above, left, below, right
};

// Where B has integers in blocks along K: numbers by block and column, [blocks, n], scales and
// after them what is added to each of a block's numbers.
struct Blocks {
  void* scales;
  int32_t size;  // in elements; k where there is one
};

// What f reads beside the sum. For a vector or a scalar `row_stride` is not read.
using EpilogueInput = Matrix;

struct GemmArguments {
  int64_t m, n, k, batch;
  Matrix a, b, d;
  EpilogueInput inputs[kMaxGemmInputs];
  int32_t swizzle;         // width of the bands of tiles that run at the same time
  int32_t raster_along_m;  // 1: bands go along M, 0: along N, -1: the kernel's choice
  int32_t dependent;       // 1: may start while the kernel before it ends
  int32_t splits;          // parts of each sum along K; 0 or 1: none, or the choice of stream-K
  Window window;           // of convolutions, which read no strides of A
  Blocks blocks;
};

// A kernel. Zero means that it was launched; else set_error was called.
using GemmFunction = int32_t(const tessera_call* call, const GemmArguments* arguments);

}  // namespace tessera::cutlass
