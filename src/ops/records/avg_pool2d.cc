// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kAvgPool2D = pool_operator<AvgPoolAttrs<2>, PoolKind::kAverage>(
    "nn.avg_pool2d",
    "y[n, c, h, w] = the mean of x[n, c, p * stride + k * dilation - pad] over the window k; "
    "padding counts only with count_include_pad   data: T[n, c, h, w] -> T[n, c, (d + pads - "
    "dilation * (k - 1) - 1) / stride + 1]",
    {"nn.avg_pool2d(float32[2,3,7,5], pool_size=[3,2])",
     "nn.avg_pool2d(float32[1,2,8,7], pool_size=[3,3], strides=[2,2], padding=[1,1])",
     "nn.avg_pool2d(float32[1,2,6,6], pool_size=[2,2], dilation=[2,2], padding=[1,0,0,1])",
     "nn.avg_pool2d(float16[1,5,6,2], pool_size=[2,3], layout=\"NHWC\")",
     "nn.avg_pool2d(float32[1,1,6,7], pool_size=[3,3], strides=[2,2], ceil_mode=True, "
     "padding=[1,1,0,0])",
     "nn.avg_pool2d(float32[1,2,3,3], pool_size=[2,2], out_layout=\"NHWC\")",
     "nn.avg_pool2d(float32[1,2,5,5], pool_size=[2,2], padding=[1,1], count_include_pad=True)",
     "nn.avg_pool2d(float32[1,2,6,6], pool_size=[3,3], strides=[2,2], padding=[1,1], "
     "count_include_pad=True, ceil_mode=True)"});

}  // namespace tessera::ops
