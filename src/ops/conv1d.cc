// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution.h"

namespace tessera::ops {
namespace {

Conv1DAttrs attrs_of(const relay::Attrs& attrs) { return relay::read_attrs<Conv1DAttrs>(attrs); }

}  // namespace

constexpr Operator kConv1D{
    .name = "nn.conv1d",
    .doc =
        "y[n, o, w] = sum over i, k of x[n, group(o) * I + i, p * stride + k * dilation - pad] * "
        "w[o, i, k], in any order of dimensions   data: T[n, c, w], weight: T[o, c / groups, k...] "
        "-> out_dtype[n, o, ...]",
    .operands = {"data", "weight"},
    .attrs = relay::attr_schema<Conv1DAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_conv(args, attrs_of(args.attrs)); },
    .eval = [](const EvalArgs& args) { return eval_conv(args, attrs_of(args.attrs)); },
    .compute = [](const ComputeArgs& args) { return compute_conv(args, attrs_of(args.attrs)); },
    .flops = [](const CostArgs& args) { return conv_flops(args, attrs_of(args.attrs)); },
    .samples = {"nn.conv1d(float32[2,3,9], float32[4,3,3])",
                "nn.conv1d(float16[1,4,7], float16[4,2,2], groups=2, padding=[1], strides=[2])",
                "nn.conv1d(float32[1,2,8], float32[3,2,3], padding=[2,1], dilation=[2])"},
};

}  // namespace tessera::ops
