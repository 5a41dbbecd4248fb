// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kMaxPool1D = pool_operator<MaxPoolAttrs<1>, PoolKind::kMax>(
    "nn.max_pool1d",
    "y[n, c, w] = the greatest of x[n, c, p * stride + k * dilation - pad] over the window k   "
    "data: T[n, c, w] -> T[n, c, (d + pads - dilation * (k - 1) - 1) / stride + 1]",
    {"nn.max_pool1d(float32[2,3,9], pool_size=[3])",
     "nn.max_pool1d(float16[1,2,7], pool_size=[2], strides=[2], padding=[1])",
     "nn.max_pool1d(float32[1,2,8], pool_size=[3], strides=[2], ceil_mode=True)",
     "nn.max_pool1d(float32[1,2,8], pool_size=[1], strides=[3], padding=[0,1], ceil_mode=True)",
     "nn.max_pool1d(int8[1,2,5], pool_size=[2], padding=[1])"});

}  // namespace tessera::ops
