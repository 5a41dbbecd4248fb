// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kAvgPool3D = pool_operator<AvgPoolAttrs<3>, PoolKind::kAverage>(
    "nn.avg_pool3d",
    "y[n, c, d, h, w] = the mean of x[n, c, p * stride + k * dilation - pad] over the window "
    "k; padding counts only with count_include_pad   data: T[n, c, d, h, w] -> T[n, c, (d + "
    "pads - dilation * (k - 1) - 1) / stride + 1]",
    {"nn.avg_pool3d(float32[1,2,4,3,5], pool_size=[2,2,2])",
     "nn.avg_pool3d(float32[1,2,4,4,4], pool_size=[3,3,3], strides=[2,1,2], padding=[1,1,1])",
     "nn.avg_pool3d(float16[1,1,3,3,3], pool_size=[2,2,2], ceil_mode=True, strides=[2,2,2])",
     "nn.avg_pool3d(float32[1,2,5,5,5], pool_size=[2,2,2], padding=[1,1,1], "
     "count_include_pad=True)",
     "nn.avg_pool3d(float32[1,2,6,6,6], pool_size=[3,3,3], strides=[2,2,2], padding=[1,1,1], "
     "count_include_pad=True, ceil_mode=True)"});

}  // namespace tessera::ops
