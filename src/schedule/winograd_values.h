// SPDX-License-Identifier: Apache-2.0
// Values of Winograd's tiles, as loops have them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tir/stmt.h"

namespace tessera::schedule {

// row[0] * values[0] + row[1] * values[1] + ..., without what is zero.
tir::Expr combination(std::span<const double> row, const std::vector<tir::Expr>& values);

// Names for values, in front of what reads them.
class NamedValues {
 public:
  tir::Expr operator()(const char* name, std::int64_t number, const tir::Expr& value);
  tir::Stmt around(std::vector<tir::Stmt> body) const;

 private:
  std::vector<std::pair<tir::Expr, tir::Expr>> values_;
};

}  // namespace tessera::schedule
