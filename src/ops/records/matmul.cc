// SPDX-License-Identifier: Apache-2.0
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

MatmulForm form_of_matmul(const relay::Attrs& attrs) {
  const auto p = relay::read_attrs<MatmulAttrs>(attrs);
  return {p.transpose_a, p.transpose_b, p.out_dtype, p.units};
}

}  // namespace

constexpr Operator kMatmul{
    .name = "nn.matmul",
    .doc =
        "y[b..., m, n] = sum over k of a[b..., m, k] * b[b..., k, n], numpy batching; transpose_a "
        "and transpose_b say that the last two dimensions are stored the other way round   T[..., "
        "m, k], T[..., k, n] -> out_dtype[..., m, n]",
    .operands = {"tensor_a", "tensor_b"},
    .attrs = relay::attr_schema<MatmulAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_matmul(args, form_of_matmul(args.attrs)); },
    .eval = [](const EvalArgs& args) { return eval_matmul(args, form_of_matmul(args.attrs)); },
    .compute =
        [](const ComputeArgs& args) { return compute_matmul(args, form_of_matmul(args.attrs)); },
    .flops = [](const CostArgs& args) { return matmul_flops(args, form_of_matmul(args.attrs)); },
    .samples = {"nn.matmul(float32[3,5], float32[5,7], units=7)",
                "nn.matmul(float32[5,3], float32[5,7], units=None, transpose_a=True)",
                "nn.matmul(float16[3,5], float16[7,5], units=None, transpose_b=True)",
                "nn.matmul(float32[2,1,3,5], float32[4,5,2], units=None)",
                "nn.matmul(float32[2,3,5], float32[5,4], units=None)",
                "nn.matmul(int32[2,3], int32[3,2], units=None)",
                "nn.matmul(float32[3,0], float32[0,2], units=None)",
                "nn.matmul(float32[2,5,3], float32[2,4,5], units=None, transpose_a=True, "
                "transpose_b=True)"},
};

}  // namespace tessera::ops
