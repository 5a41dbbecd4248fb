// SPDX-License-Identifier: Apache-2.0
#include "tir/walk.h"

#include <algorithm>
#include <tuple>

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

template <class T>
inline constexpr bool kIsNode =
    std::is_same_v<T, Expr> || std::is_same_v<T, Stmt> || std::is_same_v<T, Buffer>;

template <class V>
inline constexpr bool kIsAxes = std::is_same_v<V, std::vector<IterAxis>>;

// One value of a field: what is a child is visited, the rest is passed over.
template <class V>
void visit_field(const V& value, const NodeVisitor& v) {
  if constexpr (kIsNode<V>) {
    v(value);
  } else if constexpr (std::is_same_v<V, IterAxis>) {
    v(value.var);
    v(value.extent);
  } else if constexpr (requires { value.begin()->get(); } || kIsAxes<V>) {
    for (const auto& part : value) visit_field(part, v);
  }
}

template <class N>
void visit_fields(const N& n, const NodeVisitor& v) {
  for_each_field(n, [&](const auto& field) { visit_field(field, v); });
}

template <class V>
V map_field(const V& value, const NodeMapper& m, bool& changed) {
  if constexpr (kIsNode<V>) {
    V mapped = m(value);
    changed |= mapped.get() != value.get();
    return mapped;
  } else if constexpr (std::is_same_v<V, IterAxis>) {
    return {map_field(value.var, m, changed), map_field(value.extent, m, changed)};
  } else if constexpr (requires { value.begin()->get(); } || kIsAxes<V>) {
    V mapped;
    mapped.reserve(value.size());
    for (const auto& part : value) mapped.push_back(map_field(part, m, changed));
    return mapped;
  } else {
    return value;
  }
}

template <class N>
auto mapped_fields(const N& n, const NodeMapper& m, bool& changed) {
  // Braces: the fields are mapped in their order, so that definitions come before their uses.
  return std::apply(
      [&](auto... member) {
        return std::tuple<std::remove_cvref_t<decltype(n.*member)>...>{
            map_field(n.*member, m, changed)...};
      },
      N::fields);
}

}  // namespace

void for_each_child(const Expr& e, const NodeVisitor& f) {
  visit(e, [&](const auto& n) { visit_fields(n, f); });
}

void for_each_child(const Stmt& s, const NodeVisitor& f) {
  visit(s, [&](const auto& n) { visit_fields(n, f); });
}

void for_each_node(const Expr& root, const NodeVisitor& f) {
  if (!root) return;
  f(root);
  for_each_child(root, Overloaded{[&](const Expr& child) { for_each_node(child, f); },
                                  [&](const Buffer& b) { f(b); }});
}

// Statements nest as deep as a program is long, so they wait in a list and not on the stack. They
// are the last fields of their nodes: the order is that of a recursive walk.
void for_each_node(const Stmt& root, const NodeVisitor& f) {
  if (!root) return;
  std::vector<const Stmt*> rest = {&root};
  while (!rest.empty()) {
    const Stmt& s = *rest.back();
    rest.pop_back();
    f(s);
    const auto children = static_cast<std::ptrdiff_t>(rest.size());
    for_each_child(s, Overloaded{[&](const Stmt& child) { rest.push_back(&child); },
                                 [&](const Expr& child) { for_each_node(child, f); },
                                 [&](const Buffer& b) { f(b); }});
    std::reverse(rest.begin() + children, rest.end());
  }
}

Expr map_children(const Expr& e, const NodeMapper& f) {
  return visit(e, [&]<class N>(const N& n) -> Expr {
    bool changed = false;
    auto fields = mapped_fields(n, f, changed);
    if (!changed) return e;
    return std::apply([&](auto&&... v) { return N::make(n.dtype, std::move(v)...); },
                      std::move(fields));
  });
}

Stmt map_children(const Stmt& s, const NodeMapper& f) {
  return visit(s, [&]<class N>(const N& n) -> Stmt {
    bool changed = false;
    auto fields = mapped_fields(n, f, changed);
    if (!changed) return s;
    return std::apply([&](auto&&... v) { return N::make(std::move(v)...); }, std::move(fields));
  });
}

Expr Mutator::mutate(const Expr& e) { return map_children(e, *this); }
Stmt Mutator::mutate(const Stmt& s) { return map_children(s, *this); }

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
  auto shape = map_field(b->shape, NodeMapper(*this), changed);
  auto strides = map_field(b->strides, NodeMapper(*this), changed);
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

bool reads_memory(const Expr& e) {
  bool found = false;
  for_each_node(e, [&](const Expr& part) { found |= part.as<Load>() != nullptr; });
  return found;
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
