// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv2D = conv_operator<Conv2DAttrs>(
    "nn.conv2d",
    "y[n, o, h, w] = sum over i, k of x[n, group(o) * I + i, p * stride + k * dilation - pad] "
    "* w[o, i, k], in any order of dimensions   data: T[n, c, h, w], weight: T[o, c / groups, "
    "k...] -> out_dtype[n, o, ...]",
    {"nn.conv2d(float32[2,3,7,5], float32[4,3,3,2])",
     "nn.conv2d(float32[1,3,8,7], float32[5,3,3,3], strides=[2,2], padding=[1,1], channels=5, "
     "kernel_size=[3,3])",
     "nn.conv2d(float16[1,4,5,5], float16[6,2,3,3], groups=2, padding=[1,0,2,1])",
     "nn.conv2d(float32[1,4,6,6], float32[4,1,3,3], groups=4, padding=[1,1], dilation=[2,2])",
     "nn.conv2d(float32[1,6,5,3], float32[2,2,3,4], data_layout=\"NHWC\", "
     "kernel_layout=\"HWIO\", padding=[1,1], channels=4)",
     "nn.conv2d(float32[1,6,5,4], float32[6,3,3,2], data_layout=\"NHWC\", "
     "kernel_layout=\"OHWI\", groups=2)",
     "nn.conv2d(float16[2,5,6,6], float16[3,3,3,4], data_layout=\"NHWC\", "
     "kernel_layout=\"HWIO\", groups=2, strides=[2,2], padding=[1,1])",
     "nn.conv2d(float32[1,5,7,12], float32[5,3,1,12], data_layout=\"NHWC\", "
     "kernel_layout=\"HWIO\", groups=12, padding=[2,1])",
     "nn.conv2d(int8[1,2,4,4], int8[3,2,2,2], out_dtype=\"int32\")",
     "nn.conv2d(uint8[1,2,4,4], int8[3,2,2,2], out_dtype=\"int32\")",
     "nn.conv2d(float32[1,2,4,3], float32[3,2,1,1], out_layout=\"NHWC\")",
     "nn.conv2d(float32[0,2,4,3], float32[3,2,1,1])"});

}  // namespace tessera::ops
