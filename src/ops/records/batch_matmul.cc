// SPDX-License-Identifier: Apache-2.0
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

MatmulForm form_of_batch_matmul(const relay::Attrs& attrs) {
  const auto p = relay::read_attrs<BatchMatmulAttrs>(attrs);
  return {p.transpose_a, p.transpose_b, p.out_dtype, {}};
}

Result<Type> infer_batch_matmul(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_rank(args, 0, 3));
  TESSERA_TRY_VOID(expect_rank(args, 1, 3));
  return infer_matmul(args, form_of_batch_matmul(args.attrs));
}

}  // namespace

constexpr Operator kBatchMatmul{
    .name = "nn.batch_matmul",
    .doc =
        "y[b, m, n] = sum over k of a[b, m, k] * b[b, k, n]; a batch of 1 is repeated   T[b, m, "
        "k], T[b, k, n] -> out_dtype[b, m, n]",
    .operands = {"tensor_a", "tensor_b"},
    .attrs = relay::attr_schema<BatchMatmulAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_batch_matmul,
    .eval =
        [](const EvalArgs& args) { return eval_matmul(args, form_of_batch_matmul(args.attrs)); },
    .compute =
        [](const ComputeArgs& args) {
          return compute_matmul(args, form_of_batch_matmul(args.attrs));
        },
    .flops =
        [](const CostArgs& args) { return matmul_flops(args, form_of_batch_matmul(args.attrs)); },
    .samples = {"nn.batch_matmul(float32[2,3,5], float32[2,5,7])",
                "nn.batch_matmul(float16[2,3,4], float16[1,4,5])",
                "nn.batch_matmul(float32[1,3,4], float32[3,5,4], transpose_b=True)",
                "nn.batch_matmul(int8[2,3,4], int8[2,4,2], out_dtype=\"int32\")",
                "nn.batch_matmul(float32[2,4,3], float32[2,4,5], transpose_a=True)"},
};

}  // namespace tessera::ops
