// SPDX-License-Identifier: Apache-2.0
// What convolutions and pooling share.
#pragma once

#include "backends/openvino/call.h"

namespace tessera::backends::openvino {

struct Padding {
  Ints begin, end;
};
// Of one number for all, of one a dimension, or of all begins and then all ends.
Padding padding_of(const Ints& given, std::size_t spatial);

// "OIHW" of two spatial dimensions.
std::string_view kernel_layout(std::size_t spatial);
// Why not, unless batch and channels come first.
std::optional<Refusal> layout_refusal(std::string_view layout, std::string_view out_layout,
                                      std::size_t spatial);

}  // namespace tessera::backends::openvino
