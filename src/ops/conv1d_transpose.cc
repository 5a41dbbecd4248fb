// SPDX-License-Identifier: Apache-2.0
#include "ops/convolution.h"

namespace tessera::ops {
namespace {

Conv1DTransposeAttrs attrs_of(const relay::Attrs& attrs) {
  return relay::read_attrs<Conv1DTransposeAttrs>(attrs);
}

}  // namespace

constexpr Operator kConv1DTranspose{
    .name = "nn.conv1d_transpose",
    .doc =
        "The gradient of nn.conv1d by its data: every element of data spreads the kernel over the "
        "result at stride   data: T[n, c, w], weight: T[c, o / groups, k...] -> out_dtype[n, o, (d "
        "- 1) * stride - pads + dilation * (k - 1) + 1 + output_padding]",
    .operands = {"data", "weight"},
    .attrs = relay::attr_schema<Conv1DTransposeAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_conv_transpose(args, attrs_of(args.attrs)); },
    .eval = [](const EvalArgs& args) { return eval_conv_transpose(args, attrs_of(args.attrs)); },
    .compute =
        [](const ComputeArgs& args) { return compute_conv_transpose(args, attrs_of(args.attrs)); },
    .flops = [](const CostArgs& args) { return conv_transpose_flops(args, attrs_of(args.attrs)); },
    .samples = {"nn.conv1d_transpose(float32[2,3,5], float32[3,4,3])",
                "nn.conv1d_transpose(float16[1,4,4], float16[4,2,3], groups=2, padding=[1], "
                "strides=[2], output_padding=[1])",
                "nn.conv1d_transpose(float32[1,2,4], float32[2,3,2], dilation=[2], padding=[0,1])"},
};

}  // namespace tessera::ops
