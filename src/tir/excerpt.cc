// SPDX-License-Identifier: Apache-2.0
#include "tir/excerpt.h"

#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

constexpr std::size_t kMost = 120;  // characters

std::string first_line(std::string text) {
  if (const auto end = text.find('\n'); end != std::string::npos) text.resize(end);
  if (text.size() > kMost) text = text.substr(0, kMost) + "...";
  return text;
}

Stmt head_of(const Stmt& s) {
  const Stmt nothing = seq({});
  return visit(
      s, [&](const For& n) { return For::make(n.var, n.min, n.extent, n.loop, nothing); },
      [&](const While& n) { return While::make(n.condition, nothing); },
      [&](const IfThenElse& n) { return IfThenElse::make(n.condition, nothing, Stmt()); },
      [&](Otherwise) { return scope_of(s) != nullptr ? with_scope(s, nothing) : s; });
}

}  // namespace

std::string excerpt(const Stmt& s) { return first_line(print(head_of(s))); }

std::string excerpt(const Expr& e) { return first_line(print(e)); }

}  // namespace tessera::tir
