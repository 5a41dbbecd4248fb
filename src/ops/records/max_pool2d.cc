// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kMaxPool2D = pool_operator<MaxPoolAttrs<2>, PoolKind::kMax>(
    "nn.max_pool2d",
    "y[n, c, h, w] = the greatest of x[n, c, p * stride + k * dilation - pad] over the window "
    "k   data: T[n, c, h, w] -> T[n, c, (d + pads - dilation * (k - 1) - 1) / stride + 1]",
    {"nn.max_pool2d(float32[2,3,7,5], pool_size=[3,2])",
     "nn.max_pool2d(float32[1,2,8,7], pool_size=[3,3], strides=[2,2], padding=[1,1])",
     "nn.max_pool2d(float32[1,2,6,6], pool_size=[2,2], dilation=[2,2], padding=[1,0,0,1])",
     "nn.max_pool2d(float16[1,5,6,2], pool_size=[2,3], layout=\"NHWC\")",
     "nn.max_pool2d(float32[1,1,6,7], pool_size=[3,3], strides=[2,2], ceil_mode=True, "
     "padding=[1,1,0,0])",
     "nn.max_pool2d(float32[1,2,3,3], pool_size=[2,2], out_layout=\"NHWC\")",
     "nn.max_pool2d(int8[1,2,5,5], pool_size=[2,2], padding=[1,1])"});

}  // namespace tessera::ops
