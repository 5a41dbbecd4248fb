// SPDX-License-Identifier: Apache-2.0
#include "tir/walk.h"

namespace tessera::tir {
namespace {

class Substitution : public Mutator {
 public:
  Substitution(const VarMap& vars, const BufferMap& buffers) : vars_(vars) { buffers_ = buffers; }
  using Mutator::mutate;
  Expr mutate(const Expr& e) override {
    if (e.kind() != ExprKind::Var) return Mutator::mutate(e);
    const auto it = vars_.find(e.get());
    return it == vars_.end() ? e : it->second;
  }

 private:
  const VarMap& vars_;
};

Buffer copy_of(const Buffer& b) {
  return Buffer(new BufferNode(*b));  // the copy starts with its own reference count
}

}  // namespace

const Stmt* scope_of(const Stmt& s) {
  return visit(s, [](const auto& n) -> const Stmt* {
    using N = std::remove_cvref_t<decltype(n)>;
    if constexpr (BindsBuffer<N> || std::is_same_v<N, LetStmt>) return &n.body;
    return nullptr;
  });
}

bool BlockWalk::enter(const Stmt& s) {
  if (!s) return false;
  if (const auto* parts = s.as<Seq>()) {
    for (auto part = parts->body.rbegin(); part != parts->body.rend(); ++part) {
      rest_.push_back({&*part});
    }
    return false;
  }
  if (const Stmt* scope = scope_of(s)) {
    rest_.push_back({&s, true});
    rest_.push_back({scope});
  }
  return true;
}

Stmt with_scope(const Stmt& definition, const Stmt& scope) {
  return map_children(definition, [&](const Stmt&) { return scope; });
}

Buffer Mutator::mutate(const Buffer& b) {
  if (const auto it = buffers_.find(b.get()); it != buffers_.end()) return it->second;
  bool changed = false;
  auto shape = walk_detail::MapChild::apply(b->shape, *this, changed);
  auto strides = walk_detail::MapChild::apply(b->strides, *this, changed);
  Buffer result = b;
  if (changed) {
    auto* copy = new BufferNode(*b);
    result = Buffer(copy);
    copy->shape = std::move(shape);
    copy->strides = std::move(strides);
  }
  buffers_[b.get()] = result;
  return result;
}

Expr substitute(const Expr& e, const VarMap& vars, const BufferMap& buffers) {
  return Substitution(vars, buffers).mutate(e);
}
Stmt substitute(const Stmt& s, const VarMap& vars, const BufferMap& buffers) {
  return Substitution(vars, buffers).mutate(s);
}

Stmt with_fresh_definitions(const Stmt& s) {
  VarMap vars;
  BufferMap buffers;
  for_each_node(s, [&](const Stmt& part) {
    visit(part, [&]<class N>(const N& n) {
      if constexpr (BindsVar<N>) {
        vars[n.var.get()] = make_var(n.var.template as<Var>()->name, n.var.dtype());
      } else if constexpr (BindsBuffer<N>) {
        buffers[n.buffer.get()] = copy_of(n.buffer);
      }
    });
  });
  return substitute(s, vars, buffers);
}

bool uses_var(const Expr& e, const Expr& var) {
  bool found = false;
  for_each_node(e, [&](const Expr& part) { found |= part.same_as(var); });
  return found;
}

bool uses_buffer(const Stmt& s, const Buffer& buffer) {
  bool found = false;
  for_each_node(s, [&](const Buffer& part) { found |= part == buffer; });
  return found;
}

}  // namespace tessera::tir
