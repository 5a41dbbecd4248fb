// SPDX-License-Identifier: Apache-2.0
// Places of a strided transposed convolution's result that the same elements of the window reach.
#pragma once

#include <stdint.h>

#include "backends/cutlass/kernels/host_device.h"

namespace tessera::cutlass {

// Those are a stride apart, from a first one on, and are counted (image, y, x).
struct ClassOfPlaces {
  int32_t images, channels;
  int32_t height, width;  // of the whole result
  int32_t first_y, first_x, stride_y, stride_x;

  TESSERA_HOST_DEVICE int32_t class_height() const {
    return (height - first_y + stride_y - 1) / stride_y;
  }
  TESSERA_HOST_DEVICE int32_t class_width() const {
    return (width - first_x + stride_x - 1) / stride_x;
  }
  TESSERA_HOST_DEVICE int32_t rows() const { return images * class_height() * class_width(); }

  // Which row of the whole result, [image, y, x], is that row of the class?
  TESSERA_HOST_DEVICE int64_t row(int32_t of_class) const {
    const int32_t x = of_class % class_width(), rest = of_class / class_width();
    const int32_t y = rest % class_height(), image = rest / class_height();
    const int32_t place_y = first_y + y * stride_y, place_x = first_x + x * stride_x;
    return (int64_t(image) * height + place_y) * width + place_x;
  }
};

}  // namespace tessera::cutlass
