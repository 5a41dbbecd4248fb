// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "ops/attrs/norm.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_lrn(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  const auto p = relay::read_attrs<LrnAttrs>(args.attrs);
  TESSERA_TRY_VOID(normal_axis(args, p.axis, args.operands[0].rank()));
  if (p.size < 1) return refuse(args, Code::kWrongAttribute, "has a window of size {}", p.size);
  return args.operands[0];
}

std::vector<Tensor> eval_lrn(const EvalArgs& args) {
  const auto p = relay::read_attrs<LrnAttrs>(args.attrs);
  const Tensor& data = args.operands[0];
  const Elements<double> x = values_of<double>(data);
  const std::int64_t axis = front_axis(p.axis, data.shape.size());
  const std::int64_t stride = row_major_strides(data.shape)[axis];
  std::vector<double> out;
  std::int64_t at = 0;
  for (Counter c(data.shape); c; ++c, ++at) {
    double squares = 0;
    const std::int64_t before = std::min((p.size - 1) / 2, c[axis]);
    const std::int64_t after = std::min(p.size / 2, data.shape[axis] - 1 - c[axis]);
    for (std::int64_t k = -before; k <= after; ++k) {
      const double v = x[at + k * stride];
      squares += v * v;
    }
    out.push_back(x[at] /
                  std::pow(p.bias + p.alpha / static_cast<double>(p.size) * squares, p.beta));
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_lrn(const ComputeArgs& args) {
  const auto p = relay::read_attrs<LrnAttrs>(args.attrs);
  const TensorExpr& x = args.operands[0];
  const std::int64_t axis = front_axis(p.axis, x.rank());
  const DType wide = accumulator(x.dtype());
  const IterAxis window = tir::reduce_axis(p.size, "k");
  const TensorExpr squares = tir::compute(
      "squares", x.shape(),
      [&](const Indices& i) {
        Indices at = i;
        at[axis] = i[axis] + window.var - (p.size - 1) / 2;
        const Expr inside =
            tir::logical_and(tir::ge(at[axis], 0), tir::lt(at[axis], x.shape()[axis]));
        const Expr v = widened(x(at));
        return tir::sum({window}, tir::select(inside, v * v, zero(wide)));
      },
      "pool");
  return define(args, "y", [&](const Indices& i) {
    const Expr base =
        tir::imm(p.bias, wide) + tir::imm(p.alpha / static_cast<double>(p.size), wide) * squares(i);
    return tir::cast(widened(x(i)) / tir::call("pow", {base, tir::imm(p.beta, wide)}), x.dtype());
  });
}

}  // namespace

constexpr Operator kLrn{
    .name = "nn.lrn",
    .doc =
        "y = x / (bias + alpha / size * sum of x^2 over a window of `size` along `axis`)^beta"
        "   data: T[d...] -> T[d...]",
    .operands = {"data"},
    .attrs = relay::attr_schema<LrnAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_lrn,
    .eval = eval_lrn,
    .compute = compute_lrn,
    .flops =
        [](const CostArgs& args) {
          const auto p = relay::read_attrs<LrnAttrs>(args.attrs);
          const Shape& shape = args.result.shape();
          const Dim& along = shape[static_cast<std::size_t>(front_axis(p.axis, shape.size()))];
          const std::int64_t window = std::min(p.size, along.as_constant().value_or(p.size));
          return 2 * element_count(args.result) * static_cast<double>(window);
        },
    .samples = {"nn.lrn(float32[2,5,3], size=3, alpha=0.1)", "nn.lrn(float16[1,4,2,2])",
                "nn.lrn(float32[3,4], axis=0, size=2, bias=1.0, beta=0.5)"},
};

}  // namespace tessera::ops
