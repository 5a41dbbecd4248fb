// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv1DTranspose = conv_transpose_operator<Conv1DTransposeAttrs>(
    "nn.conv1d_transpose",
    "The gradient of nn.conv1d by its data: every element of data spreads the kernel over the "
    "result at stride   data: T[n, c, w], weight: T[c, o / groups, k...] -> out_dtype[n, o, (d "
    "- 1) * stride - pads + dilation * (k - 1) + 1 + output_padding]",
    {"nn.conv1d_transpose(float32[2,3,5], float32[3,4,3])",
     "nn.conv1d_transpose(float16[1,4,4], float16[4,2,3], groups=2, padding=[1], "
     "strides=[2], output_padding=[1])",
     "nn.conv1d_transpose(float32[1,2,4], float32[2,3,2], dilation=[2], padding=[0,1])"});

}  // namespace tessera::ops
