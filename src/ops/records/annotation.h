// SPDX-License-Identifier: Apache-2.0
// Operators that mark or replace calls. Where a mark is left, it is the value itself.
#pragma once

#include "ops/attrs/annotation.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

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

// The record of a mark at the border of a region of a back end.
constexpr Operator compiler_mark(std::string_view name, std::string_view doc, Samples samples) {
  return {
      .name = name,
      .doc = doc,
      .operands = {"data"},
      .takes_tuples = true,
      .attrs = relay::attr_schema<CompilerAttrs>,
      .pattern = OpPattern::kOpaque,
      .infer = infer_mark,
      .eval = eval_mark,
      .compute = compute_mark,
      .has_effect = true,  // two marks of one value are two
      .samples = samples,
  };
}

}  // namespace tessera::ops
