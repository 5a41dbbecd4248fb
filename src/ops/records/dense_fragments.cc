// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"
#include "ops/records/fragment_elements.h"
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

// In the form that schedules for devices know again (tir/few_rows.h).
Definitions compute_dense_fragments(const ComputeArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  const TensorExpr& data = args.operands[0];
  const IterAxis k = tir::reduce_axis(data.shape().back(), "k");
  const TensorExpr product = tir::compute(
      "product", result_shape(args),
      [&](const Indices& i) {
        Indices at = i;
        at.back() = k.var;
        const Expr w = fragment_element(args, p, 1, k.var, i.back());
        return tir::sum({k}, w * tir::cast(data(at), kFloat32));
      },
      "matmul");
  return {converted(product, result_dtype(args))};
}

}  // namespace

constexpr Operator kDenseFragments{
    .name = "qnn.dense_fragments",
    .doc =
        "y[b..., n] = sum over k of data[b..., k] * (q[k, n] - zero_point) * scale: "
        "`qnn.dense_blocks` with words in the order in which the threads of a GPU read them "
        "(tir/fragments.h); `block_size` is a multiple of 32   data: T[b..., k], weight: "
        "int32[tiles, steps, 128], scale: F[tiles, blocks, 16], zero_point: G[] or G[tiles, "
        "blocks, 16] -> T[b..., units]; F and G are float32, float16 or bfloat16",
    .operands = {"data", "weight", "scale", "zero_point"},
    .attrs = relay::attr_schema<BlockColumnsAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_block_product(args, WordOrder::kFragments); },
    .eval = [](const EvalArgs& args) { return eval_block_product(args, WordOrder::kFragments); },
    .compute = compute_dense_fragments,
    .flops = [](const CostArgs& args) { return matmul_flops(args, {}); },
    .samples = {"qnn.dense_fragments(float16[1,128], int32[1,2,128]{-2147483648..2147483647}, "
                "float16[1,1,16], float32[]=8, units=9, block_size=128)",
                "qnn.dense_fragments(float32[2,3,100], int32[2,2,128]{-2147483648..2147483647}, "
                "float32[2,4,16], float32[2,4,16], units=19)",
                "qnn.dense_fragments(bfloat16[9,50], int32[1,2,128]{-2147483648..2147483647}, "
                "bfloat16[1,2,16], float32[1,2,16], units=16, bits=8, terms=50)",
                "qnn.dense_fragments(float16[17,256], int32[2,2,128]{-2147483648..2147483647}, "
                "float32[2,4,16], float32[]=2, units=32, block_size=64, bits=2)",
                "qnn.dense_fragments(float16[0,32], int32[1,1,128], float32[1,1,16], float32[]=8, "
                "units=4)"},
};

}  // namespace tessera::ops
