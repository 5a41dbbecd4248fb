// SPDX-License-Identifier: Apache-2.0
// Whether a vectorised loop may stand under `omp simd`, and with which reductions.
#pragma once

#include <vector>

#include "support/source.h"
#include "tir/stmt.h"

namespace tessera::emit {

// One `acc = acc op value` into a place that the loop variable does not move.
struct Reduction {
  tir::Buffer accumulator;  // a stack buffer without dimensions
  tir::ExprKind op = tir::ExprKind::Add;
};

struct SimdLoop {
  bool allowed = true;  // else the loop is emitted as a plain one
  std::vector<Reduction> reductions;
  // The loop with accumulators in variables of their own: `before`, loop, `after`. Where the
  // accumulator is such a variable already nothing is added.
  std::vector<tir::Buffer> variables;
  std::vector<tir::Stmt> before, after;
  tir::Stmt body;
};
SimdLoop plan_simd(const tir::For& loop);

// The line before the loop.
Source simd_pragma(const SimdLoop& loop, const std::vector<Source>& names);

}  // namespace tessera::emit
