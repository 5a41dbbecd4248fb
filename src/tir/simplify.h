// SPDX-License-Identifier: Apache-2.0
// Simplification by named rules (tir/rules.cc) and by the ranges of indices (tir/index_form.h),
// bottom-up until nothing changes. The result has the same value wherever the original has a
// defined one; floats stay exact but for powers with small exponents, which become products.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tir/index_form.h"
#include "tir/prim_func.h"

namespace tessera::tir {

Expr simplify(const Expr& e, const Bounds& bounds = {});
// Also removes loops that run once or never, branches that are not taken, lets of literals and
// variables, and what is not used.
Stmt simplify(const Stmt& s, const Bounds& bounds = {});
// Dimensions are taken to be at least 0.
PrimFunc simplify(const PrimFunc& f);

// One rewriting rule. In `before`, a variable x, y, z stands for any expression (the same one where
// it repeats), p and q for conditions, c and d for literals.
struct Rule {
  // kSizes: y divides and is made of sizes. It is taken to be not zero: where a size is, there are
  // no elements whose indices are computed. Data that divide may be zero.
  enum class For : std::uint8_t { kAll, kInts, kFloats, kSizes };
  std::string_view name;
  For types = For::kAll;  // of the operands
  Expr before, after;
  bool (*condition)(double c, double d) = nullptr;  // over the values of c and d
};
// All rules, grouped by the operator at the root.
const std::vector<Rule>& rules();
// The result of the first rule that fits the root of `e`, and which one it was; nothing if none
// does.
struct Rewrite {
  Expr result;
  const Rule* rule = nullptr;
};
std::optional<Rewrite> apply_rule(const Expr& e, const Bounds& bounds);

}  // namespace tessera::tir
