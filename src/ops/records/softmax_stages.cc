// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "ops/records/softmax.h"

namespace tessera::ops {

Result<Type> infer_softmax(const InferArgs& args) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  const auto p = relay::read_attrs<SoftmaxAttrs>(args.attrs);
  TESSERA_TRY_VOID(normal_axis(args, p.axis, args.operands[0].rank()));
  return args.operands[0];
}

std::vector<Tensor> eval_softmax(const EvalArgs& args, double (*finish)(double, double)) {
  const Tensor& data = args.operands[0];
  const std::int64_t axis =
      front_axis(relay::read_attrs<SoftmaxAttrs>(args.attrs).axis, data.shape.size());
  Elements<double> x = values_of<double>(data);
  const Ints strides = row_major_strides(data.shape);
  Ints rows = data.shape;
  rows[axis] = 1;
  const std::int64_t n = data.shape[axis], step = strides[axis];
  if (n == 0) return {data};
  for (Counter r(rows); r; ++r) {
    const std::int64_t row = r.offset(strides);
    double greatest = x[row], total = 0;
    for (std::int64_t k = 0; k < n; ++k) greatest = max_or_nan(greatest, x[row + k * step]);
    for (std::int64_t k = 0; k < n; ++k) total += std::exp(x[row + k * step] - greatest);
    for (std::int64_t k = 0; k < n; ++k) {
      double& v = x[row + k * step];
      v = finish(v - greatest, total);
    }
  }
  return {tensor_of(args.result, x)};
}

Indices SoftmaxStages::row_of(Indices i) const {
  i.erase(i.begin() + axis);
  return i;
}

SoftmaxStages softmax_stages(const ComputeArgs& args) {
  const TensorExpr& x = args.operands[0];
  SoftmaxStages s;
  s.axis = front_axis(relay::read_attrs<SoftmaxAttrs>(args.attrs).axis, x.rank());
  std::vector<Expr> rows = x.shape();
  rows.erase(rows.begin() + s.axis);
  const auto element = [&](Indices row, const IterAxis& k) {
    row.insert(row.begin() + s.axis, k.var);
    return row;
  };
  const IterAxis first = tir::reduce_axis(x.shape()[s.axis], "k");
  const IterAxis second = tir::reduce_axis(x.shape()[s.axis], "k");
  s.greatest = tir::compute(
      "greatest", rows,
      [&](const Indices& i) {
        return tir::reduce(ReduceOp::kMax, {first}, widened(x(element(i, first))));
      },
      "softmax");
  s.exponential = tir::compute(
      "exponential", x.shape(),
      [&](const Indices& i) { return tir::call("exp", {widened(x(i)) - s.greatest(s.row_of(i))}); },
      "softmax");
  s.total = tir::compute(
      "total", rows,
      [&](const Indices& i) { return tir::sum({second}, s.exponential(element(i, second))); },
      "softmax");
  return s;
}

}  // namespace tessera::ops
