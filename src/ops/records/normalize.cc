// SPDX-License-Identifier: Apache-2.0
#include "ops/records/normalize.h"

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

namespace {

// What means are taken over, as places in the data.
struct GroupedShape {
  GroupedShape(const Ints& shape, const Normalization& n)
      : groups(shape), inside(shape), strides(row_major_strides(shape)) {
    for (std::size_t d = 0; d < shape.size(); ++d) (n.over[d] ? groups : inside)[d] = 1;
  }
  Ints groups, inside;  // the means, and what each is taken over
  Ints strides;
};

// f(group, place where it begins, mean, 1 / sqrt(variance + epsilon)) of all groups.
template <class F>
void for_each_group(const Elements<double>& x, const GroupedShape& shape, const Normalization& n,
                    const F& f) {
  const auto count = static_cast<double>(count_of(shape.inside));
  for (Counter g(shape.groups); g; ++g) {
    const std::int64_t base = g.offset(shape.strides);
    const double none = 0 / count;  // NaN for a mean of nothing, as code has it
    double mean = n.subtracts_mean ? none : 0, variance = none;
    for (Counter i(shape.inside); i && n.subtracts_mean; ++i) {
      mean += x[base + i.offset(shape.strides)] / count;
    }
    for (Counter i(shape.inside); i; ++i) {
      const double d = x[base + i.offset(shape.strides)] - mean;
      variance += d * d / count;
    }
    f(g, base, mean, 1 / std::sqrt(variance + n.epsilon));
  }
}

}  // namespace

std::vector<Tensor> eval_normalize(const EvalArgs& args, const Normalization& n) {
  const Tensor& data = args.operands[0];
  Elements<double> x = values_of<double>(data);
  const Elements<double> gamma = values_of<double>(args.operands[1]);
  const Elements<double> beta = n.center ? values_of<double>(args.operands[2]) : Elements<double>();
  const GroupedShape shape(data.shape, n);
  for_each_group(x, shape, n, [&](const Counter& g, std::int64_t base, double mean, double factor) {
    for (Counter i(shape.inside); i; ++i) {
      double& v = x[base + i.offset(shape.strides)];
      const std::int64_t at = g[n.param_axis] + i[n.param_axis];
      v = (v - mean) * factor * (n.scale ? gamma[at] : 1) + (n.center ? beta[at] : 0);
    }
  });
  return {tensor_of(args.result, x)};
}

std::vector<Tensor> eval_norm_factors(const EvalArgs& args, const Normalization& n) {
  const Elements<double> x = values_of<double>(args.operands[0]);
  std::vector<double> factors, shifts;
  for_each_group(x, GroupedShape(args.operands[0].shape, n), n,
                 [&](const Counter&, std::int64_t, double mean, double factor) {
                   factors.push_back(factor);
                   shifts.push_back(-mean * factor);
                 });
  const auto& types = args.result.fields();
  return {tensor_of(types[0], factors), tensor_of(types[1], shifts)};
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
  Expr size(const Indices& group) const { return tir::call("sqrt", {squared_size(group)}); }
  Expr inverse_size(const Indices& group) const {
    return tir::call("rsqrt", {squared_size(group)});
  }

 private:
  Expr squared_size(const Indices& group) const {
    return squares_(group) / count_ + tir::imm(n_.epsilon, accumulator(data_.dtype()));
  }

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
  return {tir::compute(
              "factor", moments.groups(), [&](const Indices& i) { return moments.inverse_size(i); },
              tag),
          tir::compute(
              "shift", moments.groups(),
              [&](const Indices& i) { return -moments.mean(i) * moments.inverse_size(i); }, tag)};
}

}  // namespace tessera::ops
