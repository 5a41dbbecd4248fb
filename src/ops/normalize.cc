// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"

#include <cmath>

namespace tessera::ops {

Result<Type> infer_normalize(const InferArgs& args, std::int64_t axis) {
  TESSERA_TRY_VOID(expect_float(args, 0));
  TESSERA_TRY_VOID(expect_same_dtype(args));
  const Type& data = args.operands[0];
  TESSERA_TRY(const std::int64_t at, normal_axis(args, axis, data.rank()));
  Shape shape = data.shape();
  for (std::size_t i = 1; i < args.operands.size(); ++i) {
    TESSERA_TRY_VOID(expect_rank(args, i, 1));
    TESSERA_TRY(shape[at], agreed(args, shape[at], args.operands[i].shape()[0],
                                  "sizes of axis and parameter"));
  }
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_normalize(const EvalArgs& args, const Normalization& n) {
  const Tensor& data = args.operands[0];
  std::vector<double> x = values_of<double>(data);
  const std::vector<double> gamma = values_of<double>(args.operands[1]);
  const std::vector<double> beta =
      n.center ? values_of<double>(args.operands[2]) : std::vector<double>{};
  Ints groups = data.shape, inside = data.shape;  // the means, and what each is taken over
  for (std::size_t d = 0; d < groups.size(); ++d) (n.over[d] ? groups : inside)[d] = 1;
  const Ints strides = row_major_strides(data.shape);
  const auto count = static_cast<double>(count_of(inside));
  for (Counter g(groups); g; ++g) {
    const std::int64_t base = g.offset(strides);
    double mean = 0, variance = 0;
    for (Counter i(inside); i && n.subtracts_mean; ++i) {
      mean += x[base + i.offset(strides)] / count;
    }
    for (Counter i(inside); i; ++i) {
      const double d = x[base + i.offset(strides)] - mean;
      variance += d * d / count;
    }
    const double factor = 1 / std::sqrt(variance + n.epsilon);
    for (Counter i(inside); i; ++i) {
      double& v = x[base + i.offset(strides)];
      const std::int64_t at = g[n.param_axis] + i[n.param_axis];
      v = (v - mean) * factor * (n.scale ? gamma[at] : 1) + (n.center ? beta[at] : 0);
    }
  }
  return {tensor_of(args.result, x)};
}

namespace {

// Sums over the data's groups, each in float32 or wider, in two steps: x - mean(x) first.
class Moments {
 public:
  Moments(const TensorExpr& data, const Normalization& n, const std::string& tag)
      : data_(data), n_(n), groups_(data.shape()) {
    const ReducedAxes axes{n.over, true};
    Expr extent = 1;
    for (std::size_t d = 0; d < groups_.size(); ++d) {
      if (!n.over[d]) continue;
      extent = extent * groups_[d];
      groups_[d] = 1;
    }
    count_ = tir::cast(extent, accumulator(data.dtype()));
    const std::vector<IterAxis> first = axes_over(data, axes), second = axes_over(data, axes);
    total_ = tir::compute(
        "total", groups_,
        [&](const Indices& i) {
          return tir::sum(first, widened(data(axes.operand_index(i, vars_of(first)))));
        },
        tag);
    squares_ = tir::compute(
        "squares", groups_,
        [&](const Indices& i) {
          const Expr d = deviation(axes.operand_index(i, vars_of(second)), i);
          return tir::sum(second, d * d);
        },
        tag);
  }

  const std::vector<Expr>& groups() const { return groups_; }
  Indices group_of(Indices i) const {
    for (std::size_t d = 0; d < i.size(); ++d) {
      if (n_.over[d]) i[d] = 0;
    }
    return i;
  }
  Expr mean(const Indices& group) const { return total_(group) / count_; }
  Expr deviation(const Indices& i, const Indices& group) const {
    const Expr x = widened(data_(i));
    return n_.subtracts_mean ? x - mean(group) : x;
  }
  Expr size(const Indices& group) const {
    const Expr epsilon = tir::imm(n_.epsilon, accumulator(data_.dtype()));
    return tir::call("sqrt", {squares_(group) / count_ + epsilon});
  }

 private:
  const TensorExpr& data_;
  const Normalization& n_;
  std::vector<Expr> groups_;
  Expr count_;
  TensorExpr total_, squares_;
};

}  // namespace

Definitions compute_normalize(const ComputeArgs& args, const Normalization& n, std::string tag) {
  const TensorExpr &data = args.operands[0], &gamma = args.operands[1];
  const Moments moments(data, n, tag);
  return define(
      args, "normalized",
      [&](const Indices& i) {
        const Indices g = moments.group_of(i);
        Expr y = moments.deviation(i, g) / moments.size(g);
        if (n.scale) y = y * widened(gamma({i[n.param_axis]}));
        if (n.center) y = y + widened(args.operands[2]({i[n.param_axis]}));
        return tir::cast(y, data.dtype());
      },
      tag);
}

Definitions compute_norm_factors(const ComputeArgs& args, const Normalization& n,
                                 const std::string& tag) {
  const TensorExpr& data = args.operands[0];
  const Moments moments(data, n, tag);
  const Expr one = tir::imm(1, accumulator(data.dtype()));
  return {
      tir::compute(
          "factor", moments.groups(), [&](const Indices& i) { return one / moments.size(i); }, tag),
      tir::compute(
          "shift", moments.groups(),
          [&](const Indices& i) { return -moments.mean(i) / moments.size(i); }, tag)};
}

}  // namespace tessera::ops
