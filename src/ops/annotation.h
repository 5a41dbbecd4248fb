// SPDX-License-Identifier: Apache-2.0
// Operators that mark or replace calls. Where a mark is left, it is the value itself.
#pragma once

#include "ops/attrs/annotation.h"
#include "ops/definition.h"
#include "ops/record.h"

namespace tessera::ops {

inline Result<Type> infer_mark(const InferArgs& args) { return args.operands[0]; }
inline bool is_mark(const Operator& op) { return op.infer == infer_mark; }

inline std::vector<Tensor> eval_mark(const EvalArgs& args) {
  return {args.operands.begin(), args.operands.end()};
}

inline Definitions compute_mark(const ComputeArgs& args) {
  Definitions out;
  for (const TensorExpr& x : args.operands) {
    out.push_back(tir::compute("y", x.shape(), [&](const Indices& i) { return x(i); }));
  }
  return out;
}

}  // namespace tessera::ops
