// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/create.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

std::vector<Tensor> eval_eye(const EvalArgs& args) {
  const auto p = relay::read_attrs<EyeAttrs>(args.attrs);
  Ints out;
  for (Counter c(static_shape(args.result)); c; ++c) out.push_back(c[1] - c[0] == p.k ? 1 : 0);
  return {tensor_of(args.result, out)};
}

Definitions compute_eye(const ComputeArgs& args) {
  const auto p = relay::read_attrs<EyeAttrs>(args.attrs);
  return define(args, "y", [&](const Indices& i) {
    return tir::select(tir::eq(i[1] - i[0], p.k), one(p.dtype), zero(p.dtype));
  });
}

}  // namespace

constexpr Operator kEye{
    .name = "eye",
    .doc = "y[i, j] = 1 where j - i = k, else 0   -> dtype[rows, columns]",
    .operands = {},
    .attrs = relay::attr_schema<EyeAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = [](const InferArgs& args) -> Result<Type> {
      const auto p = relay::read_attrs<EyeAttrs>(args.attrs);
      return tensor_type({Dim(p.rows), Dim(p.columns)}, p.dtype);
    },
    .eval = eval_eye,
    .compute = compute_eye,
    .samples = {"eye(rows=3, columns=3)", "eye(rows=3, columns=5, k=1, dtype=\"int64\")",
                "eye(rows=4, columns=2, k=-2, dtype=\"float16\")", "eye(rows=0, columns=2)"},
};

}  // namespace tessera::ops
