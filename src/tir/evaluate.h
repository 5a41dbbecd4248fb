// SPDX-License-Identifier: Apache-2.0
// Values of scalar expressions, by the semantics at the top of tir/expr.h. Slow: values are
// literals, and an operation is a folding of literals.
#pragma once

#include <functional>
#include <unordered_map>

#include "tir/expr.h"

namespace tessera::tir {

class Evaluator {
 public:
  // Gives the element of a buffer at indices, as a literal.
  std::function<Expr(const Buffer&, const std::vector<std::int64_t>&)> load;

  void set(const Expr& var, Expr literal) { values_[var.get()] = std::move(literal); }
  // An IntImm or FloatImm of e's (element) dtype: that of one lane, for a vector. What is undefined
  // (division by zero, overflow) fails a check.
  Expr value(const Expr& e, int lane = 0);
  std::int64_t index(const Expr& e, int lane = 0);
  bool condition(const Expr& e, int lane = 0) { return index(e, lane) != 0; }

 private:
  std::unordered_map<const ExprNode*, Expr> values_;
};

}  // namespace tessera::tir
