// SPDX-License-Identifier: Apache-2.0
#include "emit/guards.h"

#include "tir/expr_ops.h"

namespace tessera::emit {
namespace {

using tir::Bounds;
using tir::Expr;
using tir::IndexForm;

// The comparison says that this is 0 or more.
std::optional<IndexForm> margin(const Expr& comparison, const Bounds& bounds) {
  const auto* less = comparison.as<tir::Lt>();
  const auto* at_most = comparison.as<tir::Le>();
  if (less == nullptr && at_most == nullptr) return std::nullopt;
  const Expr& a = less != nullptr ? less->a : at_most->a;
  const Expr& b = less != nullptr ? less->b : at_most->b;
  if (a.dtype() != kInt64) return std::nullopt;
  IndexForm form = add(index_form(b, bounds), index_form(a, bounds), -1);
  form.constant -= less != nullptr ? 1 : 0;
  return form;
}

}  // namespace

std::optional<IndexWindow> window_of(const Expr& one, const Expr& other, const Bounds& bounds) {
  const auto low = margin(one, bounds), high = margin(other, bounds);
  if (!low || !high || low->is_constant()) return std::nullopt;
  const IndexForm width = add(*low, *high);
  if (!width.is_constant() || width.constant < 0) return std::nullopt;
  const bool rises = low->terms[0].coefficient > 0;
  return IndexWindow{to_expr(rises ? *low : *high), width.constant + 1};
}

bool is_uniform(const Expr& comparison, const Lanes& lanes, const Bounds& bounds) {
  const auto form = margin(comparison, bounds);
  if (lanes.most == 0 || !form || form->terms.size() != 1) return false;
  const auto& [atom, coefficient] = form->terms[0];
  if (atom.get() != lanes.var.get() || (coefficient != 1 && coefficient != -1)) return false;
  // The first element on the other side.
  const std::int64_t step = coefficient == 1 ? -form->constant : form->constant + 1;
  return step % lanes.most == 0;
}

}  // namespace tessera::emit
