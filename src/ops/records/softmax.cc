// SPDX-License-Identifier: Apache-2.0
#include "ops/records/softmax.h"

#include <cmath>

namespace tessera::ops {

constexpr Operator kSoftmax{
    .name = "nn.softmax",
    .doc =
        "y = exp(x - m) / sum(exp(x - m)), m = max(x), each along `axis`   data: T[d...] -> "
        "T[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<SoftmaxAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_softmax,
    .eval =
        [](const EvalArgs& args) {
          return eval_softmax(args, [](double x, double total) { return std::exp(x) / total; });
        },
    .compute =
        [](const ComputeArgs& args) {
          const SoftmaxStages s = softmax_stages(args);
          return define(
              args, "softmax",
              [&](const Indices& i) {
                return tir::cast(s.exponential(i) / s.total(s.row_of(i)), result_dtype(args));
              },
              "softmax");
        },
    .flops = [](const CostArgs& args) { return 5 * element_count(args.result); },
    .samples = {"nn.softmax(float32[2,5], axis=1)", "nn.softmax(float16[3,2,4])",
                "nn.softmax(float32[3,4,2], axis=0)", "nn.softmax(float64[1,7])",
                "nn.softmax(float32[0,3])"},
};

}  // namespace tessera::ops
