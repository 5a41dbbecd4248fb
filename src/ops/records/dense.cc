// SPDX-License-Identifier: Apache-2.0
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

MatmulForm form_of_dense(const relay::Attrs& attrs) {
  const auto p = relay::read_attrs<DenseAttrs>(attrs);
  return {false, true, p.out_dtype, p.units};
}

Result<Type> infer_dense(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_rank(args, 1, 2));
  return infer_matmul(args, form_of_dense(args.attrs));
}

}  // namespace

constexpr Operator kDense{
    .name = "nn.dense",
    .doc =
        "y[b..., n] = sum over k of data[b..., k] * weight[n, k]   data: T[b..., k], weight: T[n, "
        "k] -> out_dtype[b..., n]",
    .operands = {"data", "weight"},
    .attrs = relay::attr_schema<DenseAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_dense,
    .eval = [](const EvalArgs& args) { return eval_matmul(args, form_of_dense(args.attrs)); },
    .compute =
        [](const ComputeArgs& args) { return compute_matmul(args, form_of_dense(args.attrs)); },
    .flops = [](const CostArgs& args) { return matmul_flops(args, form_of_dense(args.attrs)); },
    .samples = {"nn.dense(float32[3,5], float32[7,5], units=7)",
                "nn.dense(float16[2,9], float16[3,9], units=None)",
                "nn.dense(float32[2,3,4], float32[5,4], units=5)",
                "nn.dense(int8[3,4], int8[2,4], units=2, out_dtype=\"int32\")",
                "nn.dense(float32[0,4], float32[2,4], units=2)",
                "nn.dense(float64[1,17], float64[13,17], units=13)",
                "nn.dense(float16[3,4], float16[2,4], units=2, out_dtype=\"float32\")",
                "nn.dense(uint8[3,4], int8[2,4], units=2, out_dtype=\"int32\")",
                "nn.dense(float32[3,4], float16[2,4], units=2)"},
};

}  // namespace tessera::ops
