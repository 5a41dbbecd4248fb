// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv3D = conv_operator<Conv3DAttrs>(
    "nn.conv3d",
    "y[n, o, d, h, w] = sum over i, k of x[n, group(o) * I + i, p * stride + k * dilation - "
    "pad] * w[o, i, k], in any order of dimensions   data: T[n, c, d, h, w], weight: T[o, c / "
    "groups, k...] -> out_dtype[n, o, ...]",
    {"nn.conv3d(float32[1,2,4,3,5], float32[3,2,2,2,2])",
     "nn.conv3d(float32[1,2,4,4,4], float32[2,1,3,3,3], groups=2, padding=[1,1,1], "
     "strides=[2,1,2])",
     "nn.conv3d(float16[1,1,3,3,3], float16[2,1,2,2,2], padding=[0,1,0,1,0,1])"});

}  // namespace tessera::ops
