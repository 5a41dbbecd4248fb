// SPDX-License-Identifier: Apache-2.0
// What a window sees of an image, and what it makes of one, element by element.
#pragma once

#include "backends/cutlass/kernels/gemm.h"
#include "backends/cutlass/kernels/host_device.h"

namespace tessera::cutlass::measure {

// Of the product's A[row, k] in the image; -1 in the padding, where there is zero.
TESSERA_HOST_DEVICE inline int64_t place_in_image(const Window& w, int64_t row, int64_t k) {
  const int64_t channel = k % w.channels, place = k / w.channels;  // in the window
  const int64_t x =
      row % w.out_width * w.strides[1] - w.padding[1] + place % w.columns * w.dilation[1];
  const int64_t y = row / w.out_width % w.out_height * w.strides[0] - w.padding[0] +
                    place / w.columns * w.dilation[0];
  if (x < 0 || y < 0 || x >= w.width || y >= w.height) return -1;
  const int64_t image = row / (int64_t(w.out_width) * w.out_height);
  return ((image * w.height + y) * w.width + x) * w.channels + channel;
}

// Of a transposed convolution: A[row, k] in the data, where k counts (element of the window,
// channel); -1 where that element does not reach the row's place from one of the data.
TESSERA_HOST_DEVICE inline int64_t place_in_data(const Window& w, int64_t channels, int64_t row,
                                                 int64_t k) {
  const int64_t channel = k % channels, element = k / channels;
  const int64_t x = row % w.width + w.padding[1] - element % w.columns * w.dilation[1];
  const int64_t y = row / w.width % w.height + w.padding[0] - element / w.columns * w.dilation[0];
  if (x < 0 || y < 0 || x % w.strides[1] != 0 || y % w.strides[0] != 0) return -1;
  const int64_t q = x / w.strides[1], p = y / w.strides[0];
  if (q >= w.out_width || p >= w.out_height) return -1;
  const int64_t image = row / (int64_t(w.width) * w.height);
  return ((image * w.out_height + p) * w.out_width + q) * channels + channel;
}

// The same B[k, column] in the kernel, [channels, rows, columns, channels of the result].
TESSERA_HOST_DEVICE inline int64_t place_in_transposed_kernel(const Window& w, int64_t channels,
                                                              int64_t k, int64_t column) {
  const int64_t channel = k % channels, element = k / channels;
  return (channel * w.rows * w.columns + element) * w.channels + column;
}

}  // namespace tessera::cutlass::measure
