// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

std::int64_t count_of_true(const Tensor& t) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) count += element_as_double(t, i) != 0 ? 1 : 0;
  return count;
}

Result<Type> infer_argwhere(const InferArgs& args) {
  const Dim count =
      args.values[0] != nullptr ? Dim(count_of_true(*args.values[0])) : Dim::unknown();
  return tensor_type({count, Dim(static_cast<std::int64_t>(args.operands[0].rank()))}, kInt32);
}

std::vector<Tensor> eval_argwhere(const EvalArgs& args) {
  const Tensor& condition = args.operands[0];
  Ints places;
  std::int64_t i = 0;
  for (Counter c(condition.shape); c; ++c, ++i) {
    if (element_as_double(condition, i) == 0) continue;
    for (std::size_t d = 0; d < condition.shape.size(); ++d) {
      places.push_back(c[d]);
    }
  }
  return {tensor_of(args.result, places)};
}

// 1 where the element at a place in row-major order is true.
Expr is_true(const TensorExpr& condition, const Expr& place) {
  Indices at(condition.rank());
  Expr rest = place;
  for (std::size_t d = at.size(); d-- > 0;) {
    at[d] = d == 0 ? rest : tir::floor_mod(rest, condition.shape()[d]);
    rest = tir::floor_div(rest, condition.shape()[d]);
  }
  const Expr element = condition(at);
  const Expr holds = element.dtype().is_bool() ? element : tir::ne(element, zero(element.dtype()));
  return tir::select(holds, Expr(1), Expr(0));
}

Expr size_of_argwhere(const TensorExpr& t) {
  Expr size = 1;
  for (const Expr& e : t.shape()) size = size * e;
  return size;
}

Definitions shape_of_argwhere(const ComputeArgs& args) {
  const TensorExpr& condition = args.operands[0];
  const IterAxis i = tir::reduce_axis(size_of_argwhere(condition), "i");
  const TensorExpr count = tir::compute(
      "count", {}, [&](const Indices&) { return tir::sum({i}, is_true(condition, i.var)); });
  const Expr rank = static_cast<std::int64_t>(condition.rank());
  return define_sizes(2, [&](std::size_t k) { return k == 0 ? count({}) : rank; });
}

// Row r is the place with r true elements before it: as many places end with at most r.
// Quadratic in the elements, but a loop nest like any other.
Definitions compute_argwhere(const ComputeArgs& args) {
  const TensorExpr& condition = args.operands[0];
  const Expr size = size_of_argwhere(condition);
  const IterAxis k = tir::reduce_axis(size, "k"), i = tir::reduce_axis(size, "i");
  const TensorExpr counts = tir::compute("counts", {size}, [&](const Indices& at) {
    return tir::sum({k}, tir::select(tir::le(k.var, at[0]), is_true(condition, k.var), Expr(0)));
  });
  const TensorExpr places =
      tir::compute("places", {result_shape(args)[0]}, [&](const Indices& row) {
        return tir::sum({i}, tir::select(tir::le(counts({i.var}), row[0]), Expr(1), Expr(0)));
      });
  return define(args, "y", [&](const Indices& at) {
    Expr value = 0, rest = places({at[0]});
    for (std::size_t d = condition.rank(); d-- > 0;) {
      const Expr index = d == 0 ? rest : tir::floor_mod(rest, condition.shape()[d]);
      value = tir::select(tir::eq(at[1], static_cast<std::int64_t>(d)), index, value);
      rest = tir::floor_div(rest, condition.shape()[d]);
    }
    return tir::cast(value, kInt32);
  });
}

}  // namespace

constexpr Operator kArgwhere{
    .name = "argwhere",
    .doc =
        "The places of the elements that are not zero, in row-major order   condition: T[d...] -> "
        "int32[number of them, rank]",
    .operands = {"condition"},
    .pattern = OpPattern::kOpaque,
    .infer = infer_argwhere,
    .eval = eval_argwhere,
    .compute = compute_argwhere,
    .shape = shape_of_argwhere,
    .runtime_symbol = "tessera_argwhere",
    .shape_need = {ShapeNeed::kData},
    .samples = {"argwhere(bool[5]=[1,0,0,1,1])", "argwhere(float32[2,3]=[0,1,0,2,0,3])",
                "argwhere(int32[2]=[0,0])"},
};

}  // namespace tessera::ops
