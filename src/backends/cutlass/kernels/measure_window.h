// SPDX-License-Identifier: Apache-2.0
// What a window sees of an image, element by element.
#pragma once

#include "backends/cutlass/kernels/gemm.h"

#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

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

}  // namespace tessera::cutlass::measure
