// SPDX-License-Identifier: Apache-2.0
#include "schedule/nest.h"

#include "lower/element_cost.h"
#include "lower/views.h"
#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::schedule {

using tir::Expr;
using tir::Stmt;

Nest peel(const Stmt& s) { return peel(s, static_cast<std::size_t>(-1)); }

Nest peel(const Stmt& s, std::size_t limit) {
  Nest nest{{}, s};
  while (nest.loops.size() < limit) {
    const auto* loop = nest.body.as<tir::For>();
    if (loop == nullptr || !tir::is_int(loop->min, 0)) break;
    nest.loops.push_back({loop->var, loop->extent, loop->loop});
    nest.body = Stmt(loop->body);
  }
  return nest;
}

Stmt wrap(const std::vector<Loop>& loops, Stmt body) {
  for (auto it = loops.rbegin(); it != loops.rend(); ++it) {
    body = tir::For::make(it->var, Expr(0), it->extent, it->kind, body);
  }
  return body;
}

Stmt build(const Nest& nest) { return wrap(nest.loops, nest.body); }

tir::Bounds bounds_of(const std::vector<Loop>& loops) {
  tir::Bounds bounds;
  for (const Loop& l : loops) bounds.set_loop(l.var, 0, l.extent);
  return bounds;
}

bool has_loop(const Stmt& s) {
  bool found = false;
  tir::for_each_node(s, [&](const Stmt& part) { found |= part.as<tir::For>() != nullptr; });
  return found;
}

std::vector<Stmt> parts(const Stmt& s) {
  const auto* seq = s.as<tir::Seq>();
  return seq != nullptr ? seq->body : std::vector<Stmt>{s};
}

Kernel take_apart(const Stmt& body) {
  Kernel k;
  Stmt s = body;
  for (;;) {
    if (const auto* table = s.as<tir::AllocateConst>()) {
      k.tables.push_back(s);
      s = Stmt(table->body);
    } else if (const auto* allocation = s.as<tir::Allocate>()) {
      k.temporaries.push_back(allocation->buffer);
      s = Stmt(allocation->body);
    } else {
      break;
    }
  }
  k.nests = parts(s);
  return k;
}

Stmt put_together(const Kernel& kernel) {
  Stmt body = tir::seq(kernel.nests);
  for (auto it = kernel.temporaries.rbegin(); it != kernel.temporaries.rend(); ++it) {
    body = tir::Allocate::make(*it, body);
  }
  for (auto it = kernel.tables.rbegin(); it != kernel.tables.rend(); ++it) {
    const auto* table = it->as<tir::AllocateConst>();
    body = tir::AllocateConst::make(table->buffer, table->data, body);
  }
  return body;
}

tir::IndexForm offset_form(const tir::Buffer& b, const std::vector<Expr>& indices,
                           const tir::Bounds& bounds) {
  return tir::index_form(lower::flat_offset(b, indices), bounds);
}

namespace {

void collect_loads(const Expr& e, const tir::Bounds& bounds, std::vector<Access>& out) {
  tir::for_each_node(e, [&](const Expr& part) {
    if (const auto* l = part.as<tir::Load>()) {
      out.push_back({l->buffer, l->indices, offset_form(l->buffer, l->indices, bounds), false});
    }
  });
}

void collect(const Stmt& s, tir::Bounds& bounds, std::vector<Access>& out) {
  if (!s) return;
  if (const auto* loop = s.as<tir::For>()) {
    bounds.set_loop(loop->var, loop->min, loop->extent);
  } else if (const auto* store = s.as<tir::Store>()) {
    out.push_back(
        {store->buffer, store->indices, offset_form(store->buffer, store->indices, bounds), true});
  }
  tir::for_each_child(s, [&](const auto& child) {
    using T = std::remove_cvref_t<decltype(child)>;
    if constexpr (std::is_same_v<T, Stmt>) collect(child, bounds, out);
    if constexpr (std::is_same_v<T, Expr>) collect_loads(child, bounds, out);
  });
}

}  // namespace

std::vector<Access> accesses(const Stmt& s, const tir::Bounds& bounds) {
  std::vector<Access> out;
  tir::Bounds inner = bounds;
  collect(s, inner, out);
  return out;
}

std::vector<Access> loads(const Expr& e, const tir::Bounds& bounds) {
  std::vector<Access> out;
  collect_loads(e, bounds, out);
  return out;
}

namespace {

// The operands of a reduction's step.
std::optional<std::pair<Expr, Expr>> operands_of(const Expr& step) {
  std::optional<std::pair<Expr, Expr>> out;
  tir::visit(step, [&]<class N>(const N& n) {
    if constexpr (tir::BinaryNode<N>) out = {n.a, n.b};
  });
  return out;
}

}  // namespace

std::optional<Reduction> as_reduction(const Stmt& body) {
  const auto* both = body.as<tir::Seq>();
  if (both == nullptr || both->body.size() != 2) return std::nullopt;
  const auto* init = both->body[0].as<tir::Store>();
  if (init == nullptr) return std::nullopt;
  Reduction r{init->buffer, init->indices, init->value, {}, {}, {}, {}};
  Nest inner = peel(both->body[1]);
  r.loops = inner.loops;
  r.update = inner.body;
  Stmt s = inner.body;
  while (const auto* let = s.as<tir::LetStmt>()) s = Stmt(let->body);
  const auto* store = s.as<tir::Store>();
  if (store == nullptr || store->buffer != init->buffer) return std::nullopt;
  if (!tir::equal(store->indices, init->indices)) return std::nullopt;
  const auto operands = operands_of(store->value);
  if (!operands) return std::nullopt;
  const auto* before = operands->first.as<tir::Load>();
  if (before == nullptr || before->buffer != init->buffer) return std::nullopt;
  if (!tir::equal(before->indices, init->indices)) return std::nullopt;
  r.step = store->value;
  r.value = operands->second;
  return r;
}

double estimated_ns(const Stmt& s) {
  if (!s) return 0;
  if (const auto* loop = s.as<tir::For>()) {
    const std::int64_t* n = tir::as_int(loop->extent);
    return static_cast<double>(n != nullptr ? *n : 256) * estimated_ns(loop->body);
  }
  // An element costs its memory traffic, a vectorised operation about a twentieth of a nanosecond.
  if (const auto* store = s.as<tir::Store>()) {
    return 0.1 + 0.02 * lower::element_cost(store->value);
  }
  if (const auto* let = s.as<tir::LetStmt>()) {
    return 0.02 * lower::element_cost(let->value) + estimated_ns(let->body);
  }
  if (const auto* choice = s.as<tir::IfThenElse>()) {
    return std::max(estimated_ns(choice->then_case), estimated_ns(choice->else_case));
  }
  double sum = 0;
  tir::for_each_child(s, [&](const Stmt& child) { sum += estimated_ns(child); });
  return sum;
}

}  // namespace tessera::schedule
