// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

Result<Type> infer_batch_flatten(const InferArgs& args) {
  const Type& data = args.operands[0];
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 1));
  Shape inner(data.shape().begin() + 1, data.shape().end());
  return tensor_type({data.shape()[0], num_elements(inner)}, data.dtype());
}

}  // namespace

constexpr Operator kBatchFlatten{
    .name = "nn.batch_flatten",
    .doc = "All dimensions but the first become one   data: T[n, d...] -> T[n, product(d)]",
    .operands = {"data"},
    .keeps_order = true,
    .pattern = OpPattern::kInjective,
    .infer = infer_batch_flatten,
    .eval = eval_reshape,
    .compute = compute_reshape,
    .samples = {"nn.batch_flatten(float32[2,3,4])", "nn.batch_flatten(int8[3])",
                "nn.batch_flatten(float16[1,5,1,1])", "nn.batch_flatten(float32[0,2,2])"},
};

}  // namespace tessera::ops
