// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/softmax.h"

namespace tessera::ops {

constexpr Operator kLogSoftmax{
    .name = "nn.log_softmax",
    .doc =
        "y = x - m - log(sum(exp(x - m))), m = max(x), each along `axis`   data: T[d...] -> "
        "T[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<SoftmaxAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_softmax,
    .eval =
        [](const EvalArgs& args) {
          return eval_softmax(args, [](double x, double total) { return x - std::log(total); });
        },
    .compute =
        [](const ComputeArgs& args) {
          const SoftmaxStages s = softmax_stages(args);
          return define(
              args, "log_softmax",
              [&](const Indices& i) {
                const Indices row = s.row_of(i);
                const Expr y = widened(args.operands[0](i)) - s.greatest(row) -
                               tir::call("log", {s.total(row)});
                return tir::cast(y, result_dtype(args));
              },
              "softmax");
        },
    .flops = [](const CostArgs& args) { return 5 * element_count(args.result); },
    .samples = {"nn.log_softmax(float32[2,5], axis=1)", "nn.log_softmax(float16[3,2,4])",
                "nn.log_softmax(float32[3,4,2], axis=0)", "nn.log_softmax(float32[0,3])"},
};

}  // namespace tessera::ops
