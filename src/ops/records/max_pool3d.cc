// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kMaxPool3D = pool_operator<MaxPoolAttrs<3>, PoolKind::kMax>(
    "nn.max_pool3d",
    "y[n, c, d, h, w] = the greatest of x[n, c, p * stride + k * dilation - pad] over the "
    "window k   data: T[n, c, d, h, w] -> T[n, c, (d + pads - dilation * (k - 1) - 1) / stride "
    "+ 1]",
    {"nn.max_pool3d(float32[1,2,4,3,5], pool_size=[2,2,2])",
     "nn.max_pool3d(float32[1,2,4,4,4], pool_size=[3,3,3], strides=[2,1,2], padding=[1,1,1])",
     "nn.max_pool3d(float16[1,1,3,3,3], pool_size=[2,2,2], ceil_mode=True, strides=[2,2,2])",
     "nn.max_pool3d(int8[1,2,5,5,5], pool_size=[2,2,2], padding=[1,1,1])"});

}  // namespace tessera::ops
