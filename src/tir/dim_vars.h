// SPDX-License-Identifier: Apache-2.0
// Sizes as expressions of the loop IR: numbers are literals, all others variables.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tir/index_form.h"
#include "types/dim.h"

namespace tessera::tir {

// The formal dimensions of a kernel under construction: a variable for each distinct size that is
// no number, in order of first appearance. `2*seq` is a variable of its own beside `seq`, so that
// kernels which compute the same are equal however the model came by their sizes.
class DimVars {
 public:
  struct Formal {
    Dim dim;
    Expr var;
  };

  Expr expr(const Dim& dim);  // not of an unknown size
  std::vector<Expr> shape(const Shape& shape);
  const std::vector<Formal>& formals() const { return formals_; }

 private:
  std::vector<Formal> formals_;
};

// A size computed from the values of its symbols.
Expr dim_expr(const Dim& dim, const std::function<Expr(const std::string& symbol)>& value);

// The values that an expression of sizes can have: sums, products, quotients, minima and maxima of
// numbers and of variables with known bounds.
Interval size_range(const Expr& e, const Bounds& bounds);
// The greatest number of elements of these sizes; nothing if there is no bound.
std::optional<std::int64_t> max_elements(const std::vector<Expr>& shape, const Bounds& bounds);

}  // namespace tessera::tir
