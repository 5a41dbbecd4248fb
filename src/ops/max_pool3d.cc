// SPDX-License-Identifier: Apache-2.0
#include "ops/pooling.h"

namespace tessera::ops {
namespace {

MaxPoolAttrs<3> attrs_of(const relay::Attrs& attrs) {
  return relay::read_attrs<MaxPoolAttrs<3>>(attrs);
}

}  // namespace

constexpr Operator kMaxPool3D{
    .name = "nn.max_pool3d",
    .doc =
        "y[n, c, d, h, w] = the greatest of x[n, c, p * stride + k * dilation - pad] over the "
        "window k   data: T[n, c, d, h, w] -> T[n, c, (d + pads - dilation * (k - 1) - 1) / stride "
        "+ 1]",
    .operands = {"data"},
    .attrs = relay::attr_schema<MaxPoolAttrs<3>>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_pool(args, attrs_of(args.attrs)); },
    .eval =
        [](const EvalArgs& args) { return eval_pool(args, attrs_of(args.attrs), PoolKind::kMax); },
    .compute =
        [](const ComputeArgs& args) {
          return compute_pool(args, attrs_of(args.attrs), PoolKind::kMax);
        },
    .flops = [](const CostArgs& args) { return pool_flops(args, attrs_of(args.attrs)); },
    .samples =
        {"nn.max_pool3d(float32[1,2,4,3,5], pool_size=[2,2,2])",
         "nn.max_pool3d(float32[1,2,4,4,4], pool_size=[3,3,3], strides=[2,1,2], padding=[1,1,1])",
         "nn.max_pool3d(float16[1,1,3,3,3], pool_size=[2,2,2], ceil_mode=True, strides=[2,2,2])",
         "nn.max_pool3d(int8[1,2,5,5,5], pool_size=[2,2,2], padding=[1,1,1])"},
};

}  // namespace tessera::ops
