// SPDX-License-Identifier: Apache-2.0
// Convolutions as products: D[places, O] of what a window sees at each place, [places, R S C], and
// the kernel, [O, R S C].
#pragma once

#include <optional>
#include <string>

#include "ops/layout.h"
#include "relay/function.h"
#include "relay/pattern_table.h"

namespace tessera::backends::cutlass {

struct Gemm;

// Where a product's A is no matrix in memory, but an image [batch, height, width, channels] with a
// window that slides over it.
struct Convolution {
  Dim batch = 0;
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0;  // places of the window
  ops::Window window;                          // rows, columns

  // "8x56x56x64 by 3x3 strides 1x1 dilation 1x1 padding 1,1,1,1".
  std::string text() const;
};

// Sizes and operands of the product that the call of `nn.conv2d` is: NHWC by OHWI. A window of one
// element that moves by one sees the image as it lies there, and the product is a plain one.
std::optional<relay::Refusal> describe_convolution(const relay::Function& f, relay::NodeId call,
                                                   Gemm& gemm);

// Can TMA gather what the window sees? The limits are those of its descriptors.
bool suits_im2col(const Convolution& convolution);
// The same of the iterators of other kernels: a mask of 32 bits for rows and columns of the window.
bool suits_iterators(const Convolution& convolution);

}  // namespace tessera::backends::cutlass
