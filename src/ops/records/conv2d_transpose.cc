// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv2DTranspose = conv_transpose_operator<Conv2DTransposeAttrs>(
    "nn.conv2d_transpose",
    "The gradient of nn.conv2d by its data: every element of data spreads the kernel over the "
    "result at stride   data: T[n, c, h, w], weight: T[c, o / groups, k...] -> out_dtype[n, o, "
    "(d - 1) * stride - pads + dilation * (k - 1) + 1 + output_padding]",
    {"nn.conv2d_transpose(float32[1,3,4,3], float32[3,2,3,2])",
     "nn.conv2d_transpose(float32[1,2,3,3], float32[2,3,3,3], strides=[3,2], "
     "padding=[1,1], output_padding=[1,0], channels=3)",
     "nn.conv2d_transpose(float16[1,4,3,3], float16[4,1,2,2], groups=2, strides=[2,2])",
     "nn.conv2d_transpose(float32[1,3,3,2], float32[2,2,2,3], kernel_layout=\"HWOI\", "
     "data_layout=\"NHWC\", kernel_size=[2,2])",
     "nn.conv2d_transpose(float32[1,3,3,2], float32[2,2,1,3], kernel_layout=\"IHWO\", "
     "data_layout=\"NHWC\")"});

}  // namespace tessera::ops
