// SPDX-License-Identifier: Apache-2.0
#include "ops/records/convolution.h"

namespace tessera::ops {

constexpr Operator kConv3DTranspose = conv_transpose_operator<Conv3DTransposeAttrs>(
    "nn.conv3d_transpose",
    "The gradient of nn.conv3d by its data: every element of data spreads the kernel over the "
    "result at stride   data: T[n, c, d, h, w], weight: T[c, o / groups, k...] -> out_dtype[n, "
    "o, (d - 1) * stride - pads + dilation * (k - 1) + 1 + output_padding]",
    {"nn.conv3d_transpose(float32[1,2,3,2,3], float32[2,2,2,2,2])",
     "nn.conv3d_transpose(float32[1,2,2,2,2], float32[2,1,3,3,3], groups=2, "
     "padding=[1,1,1], strides=[2,1,2])",
     "nn.conv3d_transpose(float16[1,1,2,2,2], float16[1,2,2,2,2])"});

}  // namespace tessera::ops
