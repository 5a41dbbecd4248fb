// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kAvgPool1D = pool_operator<AvgPoolAttrs<1>, PoolKind::kAverage>(
    "nn.avg_pool1d",
    "y[n, c, w] = the mean of x[n, c, p * stride + k * dilation - pad] over the window k; "
    "padding counts only with count_include_pad   data: T[n, c, w] -> T[n, c, (d + pads - "
    "dilation * (k - 1) - 1) / stride + 1]",
    {"nn.avg_pool1d(float32[2,3,9], pool_size=[3])",
     "nn.avg_pool1d(float16[1,2,7], pool_size=[2], strides=[2], padding=[1])",
     "nn.avg_pool1d(float32[1,2,8], pool_size=[3], strides=[2], ceil_mode=True)",
     "nn.avg_pool1d(float32[1,2,5], pool_size=[2], padding=[1], count_include_pad=True)",
     "nn.avg_pool1d(float32[1,2,6], pool_size=[3], strides=[2], padding=[1], "
     "count_include_pad=True, ceil_mode=True)"});

}  // namespace tessera::ops
