// SPDX-License-Identifier: Apache-2.0
// Kernels with conditions: statements that can end them (tir::Require).
#pragma once

#include "tir/prim_func.h"
#include "tir/walk.h"

namespace tessera::tir {

inline bool has_condition(const Stmt& s) {
  bool found = false;
  for_each_node(s, [&](const Stmt& part) { found |= part.as<Require>() != nullptr; });
  return found;
}

// Does the condition depend on sizes alone, and on nothing that is in memory?
inline bool reads_no_memory(const Require& n) {
  bool reads = false;
  for_each_node(n.condition, [&](const Expr& e) { reads |= e.as<Load>() != nullptr; });
  return !reads;
}

// Is what its conditions find an index outside of its tensor? Else a wrong operand of any kind.
inline bool checks_indices(const PrimFunc& f) {
  const auto what = f.attrs.find("checks");
  return what != f.attrs.end() && what->second == "indices";
}

}  // namespace tessera::tir
