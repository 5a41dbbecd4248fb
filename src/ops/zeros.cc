// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/create.h"
#include "ops/definition.h"
#include "ops/evaluate.h"
#include "ops/record.h"

namespace tessera::ops {

constexpr Operator kZeros{
    .name = "zeros",
    .doc = "y[i...] = 0   -> dtype[shape]",
    .operands = {},
    .attrs = relay::attr_schema<InitAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = [](const InferArgs& args) -> Result<Type> {
      const auto p = relay::read_attrs<InitAttrs>(args.attrs);
      return tensor_type(Shape(p.shape.begin(), p.shape.end()), p.dtype);
    },
    .eval =
        [](const EvalArgs& args) {
          const Ints shape = static_shape(args.result);
          return std::vector<Tensor>{
              tensor_of(args.result, Ints(static_cast<std::size_t>(count_of(shape)), 0))};
        },
    .compute =
        [](const ComputeArgs& args) {
          return define(args, "y", [&](const Indices&) { return zero(result_dtype(args)); });
        },
    .samples = {"zeros(shape=[2,3])", "zeros(shape=[], dtype=\"int64\")",
                "zeros(shape=[0,2], dtype=\"float16\")", "zeros(shape=[3], dtype=\"bool\")"},
};

}  // namespace tessera::ops
