// SPDX-License-Identifier: Apache-2.0
#include "emit/kernel_simd.h"

#include <map>
#include <set>

#include "tir/compare.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using tir::Buffer;
using tir::Expr;
using tir::ExprKind;
using tir::Stmt;

bool is_load_of(const Expr& e, const tir::Store& s) {
  const auto* load = e.as<tir::Load>();
  if (load == nullptr || !(load->buffer == s.buffer)) return false;
  for (std::size_t i = 0; i < s.indices.size(); ++i) {
    if (!equal(load->indices[i], s.indices[i])) return false;
  }
  return true;
}

// `B[i] = B[i] op value`, either way round: the op.
template <class N>
bool is_update_by(const tir::Store& s) {
  const N* n = s.value.as<N>();
  return n != nullptr && (is_load_of(n->a, s) || is_load_of(n->b, s));
}
std::optional<ExprKind> update_op(const tir::Store& s) {
  if (is_update_by<tir::Add>(s)) return ExprKind::Add;
  if (is_update_by<tir::Mul>(s)) return ExprKind::Mul;
  if (is_update_by<tir::Min>(s)) return ExprKind::Min;
  if (is_update_by<tir::Max>(s)) return ExprKind::Max;
  if (is_update_by<tir::And>(s)) return ExprKind::And;
  if (is_update_by<tir::Or>(s)) return ExprKind::Or;
  return std::nullopt;
}

// What the body stores to, seen from the loop variable.
class Stores {
 public:
  explicit Stores(const tir::For& loop) {
    moving_.insert(loop.var.get());
    collect(loop.body);
  }
  bool allowed = true;
  std::map<const tir::BufferNode*, const tir::Store*> updates;  // by buffer; one place each
  std::vector<const tir::Store*> in_order;

 private:
  bool moves(const Expr& e) const {
    bool found = false;
    for_each_node(e, [&](const Expr& part) { found |= moving_.contains(part.get()); });
    return found;
  }
  bool is_inner(const Expr& e) const {
    bool found = false;
    for_each_node(e, [&](const Expr& part) { found |= inner_.contains(part.get()); });
    return found;
  }
  void store(const tir::Store& s) {
    if (own_.contains(s.buffer.get())) return;  // each iteration has its own
    bool varies = false, inner = false;
    for (const Expr& i : s.indices) {
      varies |= moves(i);
      inner |= is_inner(i);
    }
    if (varies) return;
    const auto op = update_op(s);
    const auto [it, fresh] = updates.try_emplace(s.buffer.get(), &s);
    if (fresh) in_order.push_back(&s);
    // One place and one operation for a buffer, or the iterations may meet.
    allowed &= op.has_value() && !inner && update_op(*it->second) == op;
    for (std::size_t i = 0; allowed && i < s.indices.size(); ++i) {
      allowed = equal(s.indices[i], it->second->indices[i]);
    }
  }
  void collect(const Stmt& s) {
    visit(s, [&]<class N>(const N& n) {
      if constexpr (tir::BindsVar<N>) {
        inner_.insert(n.var.get());
        bool follows = false;
        if constexpr (requires { n.value; }) follows = moves(n.value);
        if constexpr (requires { n.min; }) follows = moves(n.min);
        if (follows) moving_.insert(n.var.get());
      } else if constexpr (tir::BindsBuffer<N>) {
        own_.insert(n.buffer.get());
      }
      if constexpr (std::is_same_v<N, tir::Store>) store(n);
      if constexpr (std::is_same_v<N, tir::While>) allowed = false;
    });
    for_each_child(s, [&](const Stmt& child) { collect(child); });
  }

  std::set<const void*> moving_;  // variables that differ from iteration to iteration
  std::set<const void*> inner_;   // variables that the body defines
  std::set<const tir::BufferNode*> own_;
};

int loads_of(const Stmt& body, const tir::BufferNode* b) {
  int count = 0;
  for_each_node(body, [&](const Expr& e) {
    const auto* load = e.as<tir::Load>();
    count += load != nullptr && load->buffer.get() == b ? 1 : 0;
  });
  return count;
}
int stores_to(const Stmt& body, const tir::BufferNode* b) {
  int count = 0;
  for_each_node(body, [&](const Stmt& s) {
    const auto* store = s.as<tir::Store>();
    count += store != nullptr && store->buffer.get() == b ? 1 : 0;
  });
  return count;
}

// Uses `variable` in the place of the one element of `from`.
class ToVariable : public tir::Mutator {
 public:
  ToVariable(Buffer from, Buffer variable) : from_(std::move(from)), to_(std::move(variable)) {}
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    const auto* load = e.as<tir::Load>();
    return load != nullptr && load->buffer == from_ ? tir::load(to_, {}) : Mutator::mutate(e);
  }
  Stmt mutate(const Stmt& s) override {
    const auto* store = s.as<tir::Store>();
    if (store == nullptr || !(store->buffer == from_)) return Mutator::mutate(s);
    return tir::Store::make(to_, std::vector<Expr>{}, mutate(store->value));
  }

 private:
  Buffer from_, to_;
};

}  // namespace

SimdLoop plan_simd(const tir::For& loop) {
  SimdLoop out;
  out.body = loop.body;
  const Stores stores(loop);
  out.allowed = stores.allowed;
  int kept_nan = 0;
  for (const tir::Store* s : stores.in_order) {
    if (!out.allowed) return out;
    const ExprKind op = *update_op(*s);
    const bool extreme = op == ExprKind::Min || op == ExprKind::Max;
    kept_nan += extreme && s->value.dtype().is_float() ? 1 : 0;
    // A read elsewhere would see the part of one lane only.
    out.allowed = loads_of(loop.body, s->buffer.get()) == stores_to(loop.body, s->buffer.get());
    Buffer variable = s->buffer;
    if (!variable->shape.empty() || variable->scope != tir::MemoryScope::kStack) {
      variable = tir::make_buffer(s->buffer->name + "_acc", s->buffer->dtype, {},
                                  tir::MemoryScope::kStack);
      out.variables.push_back(variable);
      out.before.push_back(
          tir::Store::make(variable, std::vector<Expr>{}, tir::load(s->buffer, s->indices)));
      out.after.push_back(tir::Store::make(s->buffer, s->indices, tir::load(variable, {})));
      out.body = ToVariable(s->buffer, variable).mutate(out.body);
    }
    out.reductions.push_back({variable, op});
  }
  // The directives for minimum and maximum that keep NaN take one variable.
  if (kept_nan > 0 && out.reductions.size() > 1) out.allowed = false;
  return out;
}

Source simd_pragma(const SimdLoop& loop, const std::vector<Source>& names) {
  Source text("#pragma omp simd");
  for (std::size_t i = 0; i < loop.reductions.size(); ++i) {
    const auto& [accumulator, op] = loop.reductions[i];
    const bool extreme = op == ExprKind::Min || op == ExprKind::Max;
    if (extreme && accumulator->dtype.is_float()) {
      return source("TK_SIMD_{}({})", op == ExprKind::Min ? Literal("MIN") : "MAX", names[i]);
    }
    const Literal word = op == ExprKind::Add   ? Literal("+")
                         : op == ExprKind::Mul ? Literal("*")
                         : op == ExprKind::Min ? Literal("min")
                         : op == ExprKind::Max ? Literal("max")
                         : op == ExprKind::And ? Literal("&&")
                                               : "||";
    text += source(" reduction({} : {})", word, names[i]);
  }
  return text;
}

}  // namespace tessera::emit
