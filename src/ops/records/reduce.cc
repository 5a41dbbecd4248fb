// SPDX-License-Identifier: Apache-2.0
#include "ops/records/reduce.h"

#include <cmath>

#include "ops/evaluation/to_integer.h"

namespace tessera::ops {
namespace {

ReducedAxes axes_of_reduce(const relay::Attrs& attrs, std::size_t rank) {
  const auto p = relay::read_attrs<ReduceAttrs>(attrs);
  return reduced_axes(p.axis, p.keepdims, p.exclude, rank);
}

// Calls f(o, offset into the operand) for each element: o counts the results in row-major order.
template <class F>
void for_each_folded(const Ints& shape, const ReducedAxes& axes, F f) {
  Ints kept, folded;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    kept.push_back(axes.reduced[d] ? 1 : shape[d]);
    folded.push_back(axes.reduced[d] ? shape[d] : 1);
  }
  const Ints strides = row_major_strides(shape);
  std::size_t o = 0;
  for (Counter out(kept); out; ++out, ++o) {
    const std::int64_t base = out.offset(strides);
    for (Counter over(folded); over; ++over) f(o, base + over.offset(strides));
  }
}

template <class T>
Elements<T> folded(const EvalArgs& args, const Fold<T>& fold) {
  const Tensor& x = args.operands[0];
  const Elements<T> values = values_of<T>(x);
  Elements<T> out(count_of(static_shape(args.result)), fold.begin);
  for_each_folded(x.shape, axes_of_reduce(args.attrs, x.shape.size()),
                  [&](std::size_t o, std::int64_t at) { out[o] = fold.step(out[o], values[at]); });
  return out;
}

}  // namespace

ReducedAxes reduced_axes(const std::optional<Ints>& axis, bool keepdims, bool exclude,
                         std::size_t rank) {
  return {accepted_axes(axis, exclude, rank), keepdims};
}

Result<Shape> reduced_shape(const InferArgs& args, const std::optional<Ints>& axis, bool keepdims,
                            bool exclude) {
  const Shape& in = args.operands[0].shape();
  TESSERA_TRY(const std::vector<bool> reduced, chosen_axes(args, axis, exclude, in.size()));
  Shape shape;
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (!reduced[d]) shape.push_back(in[d]);
    if (reduced[d] && keepdims) shape.emplace_back(1);
  }
  return shape;
}

Result<Type> infer_reduce(const InferArgs& args) {
  const auto p = relay::read_attrs<ReduceAttrs>(args.attrs);
  TESSERA_TRY(Shape shape, reduced_shape(args, p.axis, p.keepdims, p.exclude));
  return tensor_type(std::move(shape), args.operands[0].dtype());
}

Result<Type> infer_bool_reduce(const InferArgs& args) {
  if (!args.operands[0].dtype().is_bool()) {
    return refuse(args, Code::kDtypeMismatch, "needs a bool operand, found {}",
                  to_string(args.operands[0].dtype()));
  }
  return infer_reduce(args);
}

std::vector<Tensor> eval_reduce(const EvalArgs& args, Fold<double> on_float,
                                Fold<std::int64_t> on_int, double (*after)(double, double)) {
  const Tensor& x = args.operands[0];
  const std::int64_t results = count_of(static_shape(args.result));
  const std::int64_t terms = results == 0 ? 0 : x.num_elements() / results;
  const auto count = static_cast<double>(terms);
  if (!x.dtype.is_float()) {
    Elements<std::int64_t> out = folded(args, on_int);
    for (std::int64_t& v : out) {
      if (after != nullptr) v = to_integer(after(static_cast<double>(v), count));
    }
    return {tensor_of(args.result, out)};
  }
  Elements<double> out = folded(args, on_float);
  for (double& v : out) {
    if (after != nullptr) v = after(v, count);
  }
  return {tensor_of(args.result, out)};
}

std::vector<IterAxis> axes_over(const TensorExpr& x, const ReducedAxes& axes) {
  std::vector<IterAxis> over;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (axes.reduced[d]) over.push_back(tir::reduce_axis(x.shape()[d], fmt::format("r{}", d)));
  }
  return over;
}

Indices vars_of(const std::vector<IterAxis>& axes) {
  Indices vars;
  for (const IterAxis& a : axes) vars.push_back(a.var);
  return vars;
}

Definitions compute_reduce(const ComputeArgs& args, ReduceOp op, Expr (*after)(Expr, Expr)) {
  const TensorExpr& x = args.operands[0];
  const ReducedAxes axes = axes_of_reduce(args.attrs, x.rank());
  const DType dtype = result_dtype(args);
  const std::vector<IterAxis> over = axes_over(x, axes);
  // Max and Min round nothing: they need no wider type.
  const bool widens = op == ReduceOp::kSum || op == ReduceOp::kProd;
  const TensorExpr total = tir::compute(
      "total", result_shape(args),
      [&](const Indices& i) {
        const Expr e = x(axes.operand_index(i, vars_of(over)));
        if (over.empty()) return widens ? widened(e) : e;
        return tir::reduce(op, over, widens ? widened(e) : e);
      },
      over.empty() ? "" : "reduce");
  if (after == nullptr) return {converted(total, dtype)};
  Expr count = 1;
  for (const IterAxis& a : over) count = count * a.extent;
  return define(args, "y", [&](const Indices& i) {
    return tir::cast(after(total(i), tir::cast(count, total.dtype())), dtype);
  });
}

Result<Type> infer_arg_reduce(const InferArgs& args) {
  const auto p = relay::read_attrs<ArgReduceAttrs>(args.attrs);
  TESSERA_TRY(Shape shape, reduced_shape(args, p.axis, p.keepdims, p.exclude));
  return tensor_type(std::move(shape), p.dtype);
}

std::vector<Tensor> eval_arg_reduce(const EvalArgs& args, bool greatest) {
  const auto p = relay::read_attrs<ArgReduceAttrs>(args.attrs);
  const Tensor& x = args.operands[0];
  const ReducedAxes axes = reduced_axes(p.axis, p.keepdims, p.exclude, x.shape.size());
  const Elements<double> values = values_of<double>(x);
  Elements<std::int64_t> best(count_of(static_shape(args.result)), -1),
      seen(count_of(static_shape(args.result)));
  Elements<double> extreme(count_of(static_shape(args.result)));
  for_each_folded(x.shape, axes, [&](std::size_t o, std::int64_t at) {
    const double v = greatest ? values[at] : -values[at];
    const bool is_new = best[o] < 0 || v > extreme[o] || (std::isnan(v) && !std::isnan(extreme[o]));
    const bool is_again = v == extreme[o] || (std::isnan(v) && std::isnan(extreme[o]));
    if (is_new || (is_again && p.select_last_index)) {
      best[o] = seen[o];
      extreme[o] = v;
    }
    ++seen[o];
  });
  return {tensor_of(args.result, best)};
}

// The extreme first, then the first (or last) place that holds it; NaN is the extreme if there is
// one.
Definitions compute_arg_reduce(const ComputeArgs& args, bool greatest) {
  const auto p = relay::read_attrs<ArgReduceAttrs>(args.attrs);
  const TensorExpr& x = args.operands[0];
  const ReducedAxes axes = reduced_axes(p.axis, p.keepdims, p.exclude, x.rank());
  const std::vector<Expr> shape = result_shape(args);
  const std::vector<IterAxis> first = axes_over(x, axes), second = axes_over(x, axes);
  if (first.empty()) {
    return define(args, "y", [&](const Indices&) { return zero(p.dtype); });
  }
  const TensorExpr extreme = tir::compute(
      "extreme", shape,
      [&](const Indices& i) {
        return tir::reduce(greatest ? ReduceOp::kMax : ReduceOp::kMin, first,
                           x(axes.operand_index(i, vars_of(first))));
      },
      "reduce");
  const TensorExpr place = tir::compute(
      "place", shape,
      [&](const Indices& i) {
        const Expr v = x(axes.operand_index(i, vars_of(second)));
        Expr at = 0, count = 1;
        for (const IterAxis& a : second) {
          at = tir::is_int(at, 0) ? a.var : at * a.extent + a.var;
          count = count * a.extent;
        }
        const Expr hit = tir::logical_or(tir::eq(v, extreme(i)), tir::ne(v, v));
        if (p.select_last_index)
          return tir::reduce(ReduceOp::kMax, second, tir::select(hit, at, Expr(-1)));
        return tir::reduce(ReduceOp::kMin, second, tir::select(hit, at, count));
      },
      "reduce");
  Expr count = 1;
  for (const IterAxis& a : second) count = count * a.extent;
  if (const std::int64_t* n = tir::as_int(count); n != nullptr && *n > 0) {
    return {converted(place, p.dtype)};
  }
  const TensorExpr found = tir::compute("found", shape, [&](const Indices& i) {
    return tir::select(tir::eq(count, 0), Expr(-1), place(i));
  });
  return {converted(found, p.dtype)};
}

}  // namespace tessera::ops
