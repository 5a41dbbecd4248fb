// SPDX-License-Identifier: Apache-2.0
// What the loop definitions (`compute`) share: shapes, broadcast reads, arithmetic of narrow
// floats.
#pragma once

#include <string>
#include <vector>

#include "ops/inference/infer.h"
#include "relay/operator.h"
#include "tir/tensor_expr.h"

namespace tessera::ops {

using relay::ComputeArgs;
using tir::Expr;
using tir::Indices;
using tir::IterAxis;
using tir::ReduceOp;
using tir::TensorExpr;
using Definitions = std::vector<TensorExpr>;

// The result's sizes; `field` chooses one of a tuple.
std::vector<Expr> result_shape(const ComputeArgs& args, std::size_t field = 0);
DType result_dtype(const ComputeArgs& args, std::size_t field = 0);

// The element of t that numpy broadcasting puts at `out`, an index of a result of this shape, which
// has at least its rank.
Expr broadcast_read(const TensorExpr& t, const std::vector<Expr>& shape, const Indices& out);

// One definition of the result's shape.
Definitions define(const ComputeArgs& args, std::string name,
                   const std::function<Expr(const Indices&)>& element, std::string tag = {});

// Sums and functions of float16 and bfloat16 are computed in float32.
DType accumulator(DType dtype);
Expr widened(Expr e);
// f of the widened argument, narrowed to its dtype again.
Expr float_call(const char* name, Expr x);
Expr float_call(const char* name, Expr x, Expr y);
// `stage` converted to dtype, or itself if it has it.
TensorExpr converted(TensorExpr stage, DType dtype);

Expr one(DType dtype);
Expr zero(DType dtype);
Expr all_of(std::vector<Expr> conditions);  // true for none

}  // namespace tessera::ops
