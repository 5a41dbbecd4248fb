// SPDX-License-Identifier: Apache-2.0
// What moves a window over an image: convolutions of floats and of integers, and pooling.
#pragma once

#include "backends/onednn/kernel.h"

namespace tessera::backends::onednn {

// One number for all, one a dimension, or all begins and then all ends.
struct Padding {
  Ints begin, end;
};
Padding padding_of(const Subject& s, NodeId core, std::size_t spatial);

// Is the attribute `name` the layout that is computed in, and is it the result's, too?
bool has_data_layout(const Subject& s, NodeId core, std::string_view name, std::size_t spatial);

// Padding, strides and dilation.
void add_geometry(const Subject& s, NodeId core, std::size_t spatial, Kernel& kernel);

// A convolution or deconvolution of `source` without weights, and without what follows it.
KernelOr windows(const Subject& s, std::string_view kind, const std::string& kernel_layout,
                 NodeId source);

// Weights [O, I / groups, k...] of a convolution; the library has groups as a dimension of their
// own. The operand's number.
int add_weights(const Subject& s, NodeId core, Kernel& kernel);

// Does a value have an element for each of that dimension of the result, where broadcasting meets
// it? [C, 1...] and [1, C, 1...] are along 1 of [N, C, ...].
bool is_along(const Shape& dims, const Shape& result, std::size_t axis);

}  // namespace tessera::backends::onednn
