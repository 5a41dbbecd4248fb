// SPDX-License-Identifier: Apache-2.0
// The window of a convolution or pooling, as ONNX's attributes give it.
#pragma once

#include "import/value.h"

namespace tessera::import {

// One entry a spatial dimension; pads: all begins, then all ends.
struct Window {
  Ints kernel, strides, dilations, pads;
};

// The attribute `group`: at least one.
std::int64_t groups_of(Node& n);
// Reads strides, dilations and pads.
Window read_steps(Node& n, Ints kernel);
// An error where a size is negative, or products and sums of it and of steps may not fit 64 bits.
void check_extents(Node& n, const Ints& sizes);
// Reads auto_pad too; `input` has two dimensions before the spatial ones.
Window read_window(Node& n, NodeId input, Ints kernel);
// The window of a convolution of `x` with the weight `w`; the attribute kernel_shape repeats it.
Ints kernel_of(Value x, Value w);
// The convolution itself, as the attributes say.
Value convolve(Value x, Value w);
// The window of a pooling of x, which has its kernel as an attribute.
Window pool_window(Value x);
Attrs pool_attrs(Node& n, const Window& w);
Value average_pool(Value x);
// The number of spatial dimensions: 1 to 3.
std::size_t spatial_rank(Node& n, NodeId input);
// "nn.conv", 2 -> "nn.conv2d"
std::string ranked(std::string_view op, std::size_t spatial);

}  // namespace tessera::import
