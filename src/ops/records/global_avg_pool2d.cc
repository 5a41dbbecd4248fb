// SPDX-License-Identifier: Apache-2.0
#include "ops/records/pooling.h"

namespace tessera::ops {

constexpr Operator kGlobalAvgPool2D{
    .name = "nn.global_avg_pool2d",
    .doc =
        "y[n, c, 0, 0] = the mean of x[n, c, h, w] over h and w   data: T[n, c, h, w] -> T[n, c, "
        "1, 1]",
    .operands = {"data"},
    .attrs = relay::attr_schema<GlobalPool2DAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_global_pool,
    .eval = [](const EvalArgs& args) { return eval_global_pool(args, PoolKind::kAverage); },
    .compute =
        [](const ComputeArgs& args) { return compute_global_pool(args, PoolKind::kAverage); },
    .flops = [](const CostArgs& args) { return element_count(args.operands[0]); },
    .samples = {"nn.global_avg_pool2d(float32[2,3,5,4])",
                "nn.global_avg_pool2d(float16[1,5,4,3], layout=\"NHWC\")",
                "nn.global_avg_pool2d(float32[3,2,4,2], layout=\"CWNH\")",
                "nn.global_avg_pool2d(float32[1,2,1,1])"},
};

}  // namespace tessera::ops
