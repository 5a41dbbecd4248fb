// SPDX-License-Identifier: Apache-2.0
#include "schedule/winograd_values.h"

#include <cmath>

#include <fmt/format.h>

#include "tir/expr_ops.h"

namespace tessera::schedule {

using tir::Expr;
using tir::Stmt;

Expr combination(std::span<const double> row, const std::vector<Expr>& values) {
  Expr sum;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == 0) continue;
    const double factor = std::abs(row[i]);
    const Expr term = factor == 1 ? values[i] : values[i] * tir::float_imm(factor);
    if (!sum) {
      sum = row[i] < 0 ? -term : term;
    } else {
      sum = row[i] < 0 ? sum - term : sum + term;
    }
  }
  return sum;
}

Expr NamedValues::operator()(const char* name, std::int64_t number, const Expr& value) {
  const Expr var = tir::make_var(fmt::format("{}{}", name, number), value.dtype());
  values_.emplace_back(var, value);
  return var;
}

Stmt NamedValues::around(std::vector<Stmt> body) const {
  Stmt out = tir::seq(std::move(body));
  for (auto it = values_.rbegin(); it != values_.rend(); ++it) {
    out = tir::LetStmt::make(it->first, it->second, out);
  }
  return out;
}

}  // namespace tessera::schedule
