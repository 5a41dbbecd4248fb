// SPDX-License-Identifier: Apache-2.0
// Kernels with conditions: statements that can end them (tir::Require).
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

// What stands before, between and after the values of a condition's sentence, one piece more than
// there are values.
std::vector<std::string> sentence_pieces(std::string_view sentence);

// A text as part of a sentence, in which none of its braces stands for a value.
std::string quoted_in_sentence(std::string_view text);

}  // namespace tessera::tir
