// SPDX-License-Identifier: Apache-2.0
// Reductions: y[o...] = after(fold(op, x[o..., r...]), number of r).
#pragma once

#include "ops/attrs/reduce.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

// Which dimensions go, and how an index of the result and one of the reduced axes make an
// operand's.
struct ReducedAxes {
  std::vector<bool> reduced;
  bool keepdims = false;

  template <class T>
  std::vector<T> operand_index(const std::vector<T>& out, const std::vector<T>& over) const {
    std::vector<T> index;
    std::size_t next_out = 0, next_over = 0;
    for (bool r : reduced) {
      index.push_back(r ? over[next_over++] : out[next_out]);
      if (!r || keepdims) ++next_out;
    }
    return index;
  }
};
ReducedAxes reduced_axes(const std::optional<Ints>& axis, bool keepdims, bool exclude,
                         std::size_t rank);

Result<Shape> reduced_shape(const InferArgs& args, const std::optional<Ints>& axis, bool keepdims,
                            bool exclude);
Result<Type> infer_reduce(const InferArgs& args);
Result<Type> infer_bool_reduce(const InferArgs& args);

// A fold in both domains, with what it begins from.
template <class T>
struct Fold {
  T begin;
  T (*step)(T, T);
};
// after(total, count of what was folded); null: the total.
std::vector<Tensor> eval_reduce(const EvalArgs& args, Fold<double> on_float,
                                Fold<std::int64_t> on_int,
                                double (*after)(double, double) = nullptr);

// One axis for each reduced dimension of x.
std::vector<IterAxis> axes_over(const TensorExpr& x, const ReducedAxes& axes);
Indices vars_of(const std::vector<IterAxis>& axes);
Definitions compute_reduce(const ComputeArgs& args, ReduceOp op,
                           Expr (*after)(Expr total, Expr count) = nullptr);

Result<Type> infer_arg_reduce(const InferArgs& args);
std::vector<Tensor> eval_arg_reduce(const EvalArgs& args, bool greatest);
Definitions compute_arg_reduce(const ComputeArgs& args, bool greatest);

// What the least and the greatest of no integers are.
inline std::int64_t greatest_int(DType dtype) {
  if (dtype.is_bool()) return 1;
  const int bits = dtype.bits - (dtype.is_unsigned_int() ? 0 : 1);
  return bits >= 63 ? INT64_MAX : (std::int64_t{1} << bits) - 1;
}
inline std::int64_t least_int(DType dtype) {
  return dtype.is_bool() || dtype.is_unsigned_int() ? 0 : -greatest_int(dtype) - 1;
}

}  // namespace tessera::ops
