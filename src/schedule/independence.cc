// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <unordered_set>

#include <fmt/format.h>

#include "schedule/primitives.h"
#include "tir/walk.h"

namespace tessera::schedule {
namespace {

using tir::Expr;
using tir::IndexForm;
using tir::Interval;

struct Scope {
  std::unordered_set<const tir::ExprNode*> inner_vars;       // defined by the body
  std::unordered_set<const tir::BufferNode*> inner_buffers;  // allocated by the body
};

Scope scope_of_iteration(const tir::Stmt& body) {
  Scope scope;
  tir::for_each_node(body, [&](const tir::Stmt& s) {
    tir::visit(s, [&]<class N>(const N& n) {
      if constexpr (tir::BindsVar<N>) scope.inner_vars.insert(n.var.get());
      if constexpr (tir::BindsBuffer<N>) scope.inner_buffers.insert(n.buffer.get());
    });
  });
  return scope;
}

// offset = stride * var + outer + inner, where inner changes within an iteration.
struct Parts {
  std::int64_t stride = 0;
  IndexForm outer, inner;
};

bool uses_any(const Expr& e, const std::unordered_set<const tir::ExprNode*>& vars) {
  bool found = false;
  tir::for_each_node(e, [&](const Expr& part) { found |= vars.contains(part.get()); });
  return found;
}

Parts parts_of(const IndexForm& offset, const Expr& var, const Scope& scope) {
  Parts p;
  p.stride = offset.coefficient(var);
  p.inner.constant = offset.constant;
  for (const tir::IndexTerm& t : offset.terms) {
    if (t.atom.same_as(var)) continue;
    (uses_any(t.atom, scope.inner_vars) ? p.inner : p.outer).terms.push_back(t);
  }
  return p;
}

// The difference of two inner parts, whose variables are independent of each other, as a range of
// small terms and multiples of `step` (0: none).
struct Difference {
  Interval small;
  std::int64_t step = 0;
};
Difference inner_difference(const Parts& x, const Parts& y, const tir::Bounds& bounds) {
  Difference d;
  IndexForm small_x, small_y;
  const std::int64_t stride = std::abs(x.stride);
  const auto sort = [&](const IndexForm& from, IndexForm& small) {
    for (const tir::IndexTerm& t : from.terms) {
      if (std::abs(t.coefficient) > stride) {
        d.step = std::gcd(d.step, t.coefficient);
      } else {
        small.terms.push_back(t);
      }
    }
  };
  sort(x.inner, small_x);
  sort(y.inner, small_y);
  const Interval r = tir::range_of(small_x, bounds), s = tir::range_of(small_y, bounds);
  // Whole steps do not count in the distance of their constants.
  std::int64_t shift = x.inner.constant - y.inner.constant;
  if (d.step != 0) shift -= d.step * tir::floor_div(2 * shift + d.step, 2 * d.step);
  if (r.has_min() && s.has_max()) d.small.min = r.min - s.max + shift;
  if (r.has_max() && s.has_min()) d.small.max = r.max - s.min + shift;
  return d;
}

// Does stride * (v - v') + difference of the inner parts never vanish where v and v' differ? Small
// terms must not bridge one stride, and what steps beyond the whole range of v must not come back
// into it.
bool disjoint(const Parts& x, const Parts& y, const Interval& var, const tir::Bounds& bounds) {
  const std::int64_t stride = std::abs(x.stride);
  const Difference d = inner_difference(x, y, bounds);
  if (!d.small.inside(1 - stride, stride - 1)) return false;
  if (d.step == 0) return true;
  if (!var.has_min() || !var.has_max()) return false;
  const std::int64_t reach = stride * (var.max - var.min);
  return reach + std::max(std::abs(d.small.min), std::abs(d.small.max)) < d.step;
}

// Do the indices of some dimension differ wherever the variable does? Then iterations touch other
// elements, whatever the sizes of the buffer.
bool apart_in_a_dimension(const Access& a, const Access& b, const Expr& var, const Scope& scope,
                          const tir::Bounds& bounds) {
  for (std::size_t d = 0; d < std::min(a.indices.size(), b.indices.size()); ++d) {
    if (a.indices[d].same_as(var) && b.indices[d].same_as(var)) return true;
    const IndexForm first = tir::index_form(a.indices[d], bounds);
    const IndexForm second = tir::index_form(b.indices[d], bounds);
    if (first.hides(var) || second.hides(var)) continue;
    const Parts x = parts_of(first, var, scope), y = parts_of(second, var, scope);
    if (x.stride != 0 && x.stride == y.stride && tir::add(x.outer, y.outer, -1).terms.empty() &&
        disjoint(x, y, bounds.of(var), bounds)) {
      return true;
    }
  }
  return false;
}

std::optional<std::string> conflict(const Access& a, const Access& b, const Expr& var,
                                    const Scope& scope, const tir::Bounds& bounds) {
  if (apart_in_a_dimension(a, b, var, scope, bounds)) return std::nullopt;
  const std::string& name = a.buffer->name;
  if (a.offset.hides(var) || b.offset.hides(var)) {
    return fmt::format("`{}` is not indexed linearly", name);
  }
  const Parts x = parts_of(a.offset, var, scope), y = parts_of(b.offset, var, scope);
  if (x.stride == 0 || x.stride != y.stride) {
    return fmt::format("iterations share elements of `{}`", name);
  }
  if (!tir::add(x.outer, y.outer, -1).terms.empty()) {
    return fmt::format("two accesses of `{}` cannot be compared", name);
  }
  if (!disjoint(x, y, bounds.of(var), bounds)) {
    return fmt::format("iterations overlap in `{}`", name);
  }
  return std::nullopt;
}

}  // namespace

Checked<void> check_independent(const Expr& var, const tir::Stmt& body, const tir::Bounds& outer) {
  const Scope scope = scope_of_iteration(body);
  tir::Bounds bounds = outer;
  tir::for_each_node(body, [&](const tir::Stmt& s) {
    if (const auto* loop = s.as<tir::For>()) bounds.set_loop(loop->var, loop->min, loop->extent);
  });
  const Interval range = bounds.of(var);
  if (range.has_min() && range.min == range.max) return {};  // one iteration
  const std::vector<Access> all = accesses(body, outer);
  for (const Access& a : all) {
    if (!a.is_store || scope.inner_buffers.contains(a.buffer.get())) continue;
    for (const Access& b : all) {
      if (a.buffer != b.buffer) continue;
      if (auto why = conflict(a, b, var, scope, bounds)) return Unexpected<Refused>{{*why}};
    }
  }
  return {};
}

}  // namespace tessera::schedule
