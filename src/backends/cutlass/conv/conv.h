// SPDX-License-Identifier: Apache-2.0
// Convolutions and their gradients as products, of what a window sees of an image at its places.
//   A convolution is D[places, O]. A is what the places see, [places, R S I], and B the kernel,
//     [O, R S I].
//   A transposed convolution, whose data are the places, is D[elements of the image, O]. A is the
//     places that see an element, [.., R S I], and B the kernel, [I, R S O].
//   The gradient by the kernel is D[O, R S I]. A is what the places have, [places, O], and B what
//     they see, [places, R S I].
#pragma once

#include <optional>
#include <string>

#include "ops/records/layout.h"
#include "relay/function.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::backends::cutlass {

struct Gemm;

enum class ConvolutionKind : std::uint8_t { kForward, kTransposed, kWeightGradient };

// Where an operand of a product is no matrix in memory, but gathered by a window that slides over
// an image [batch, height, width, channels]. All kinds say which convolution it would be forward.
struct Convolution {
  Dim batch = 0;
  std::int64_t height = 0, width = 0, channels = 0;
  std::int64_t out_height = 0, out_width = 0, out_channels = 0;  // of the window's places
  ops::Window window;                                            // rows, columns
  ConvolutionKind kind = ConvolutionKind::kForward;

  // Transposed, and not by one each way: the window's elements reach different places.
  bool is_strided() const;
  // Channels of the result, or of the one that a kernel is for.
  std::int64_t made_channels() const;
  // All but those: "8x56x56x64 by 3x3 strides 1x1 dilation 1x1 padding 1,1,1,1".
  std::string text() const;
};

// Is the operator one that describe_convolution() is for?
bool is_convolution(std::string_view op);

// Sizes and operands of the product that the call is: `nn.conv2d` NHWC by OHWI,
// `nn.conv2d_transpose` NHWC by IHWO, or `nn.conv2d_backward_weight` NHWC by NHWC. A window of one
// element that moves by one sees the image as it lies there, and the product is a plain one.
std::optional<relay::Refusal> describe_convolution(const relay::Function& f, relay::NodeId call,
                                                   Gemm& gemm);

// Can TMA gather what the window sees? The limits are those of its descriptors.
bool suits_im2col(const Convolution& convolution);
// The same of the iterators of other kernels: a mask of 32 bits for rows and columns of the window.
bool suits_iterators(const Convolution& convolution);

}  // namespace tessera::backends::cutlass
