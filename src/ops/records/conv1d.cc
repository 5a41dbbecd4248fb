// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv1D = conv_operator<Conv1DAttrs>(
    "nn.conv1d",
    "y[n, o, w] = sum over i, k of x[n, group(o) * I + i, p * stride + k * dilation - pad] * "
    "w[o, i, k], in any order of dimensions   data: T[n, c, w], weight: T[o, c / groups, k...] "
    "-> out_dtype[n, o, ...]",
    {"nn.conv1d(float32[2,3,9], float32[4,3,3])",
     "nn.conv1d(float16[1,4,7], float16[4,2,2], groups=2, padding=[1], strides=[2])",
     "nn.conv1d(float32[1,2,8], float32[3,2,3], padding=[2,1], dilation=[2])"});

}  // namespace tessera::ops
