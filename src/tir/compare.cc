// SPDX-License-Identifier: Apache-2.0
#include "tir/compare.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>
#include <vector>

#include "support/hash.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

class Comparison {
 public:
  bool same(const Expr& x, const Expr& y) {
    if (!x || !y) return x.get() == y.get();
    if (x.kind() != y.kind() || x.dtype() != y.dtype()) return false;
    if (x.kind() == ExprKind::Var) return corresponds(x.get(), y.get());
    return visit(x, [&]<class N>(const N& a) { return same_fields(a, *y.as<N>()); });
  }
  bool same(const Stmt& x, const Stmt& y) {
    rest_ = {{&x, &y}};
    while (!rest_.empty()) {
      const auto [a, b] = rest_.back();
      rest_.pop_back();
      const auto inner = static_cast<std::ptrdiff_t>(rest_.size());
      if (!same_but_inner(*a, *b)) return false;
      std::reverse(rest_.begin() + inner, rest_.end());
    }
    return true;
  }
  bool same(const PrimFunc& x, const PrimFunc& y) {
    if (x.is_host != y.is_host || x.attrs != y.attrs || x.dims.size() != y.dims.size() ||
        x.inputs.size() != y.inputs.size() || x.outputs.size() != y.outputs.size()) {
      return false;
    }
    for (std::size_t i = 0; i < x.dims.size(); ++i) define(x.dims[i].get(), y.dims[i].get());
    for (std::size_t i = 0; i < x.inputs.size(); ++i) {
      if (!define_buffers(x.inputs[i], y.inputs[i])) return false;
    }
    for (std::size_t i = 0; i < x.outputs.size(); ++i) {
      if (!define_buffers(x.outputs[i], y.outputs[i])) return false;
    }
    return same(x.body, y.body);
  }

 private:
  // The statements in them are put into rest_.
  bool same_but_inner(const Stmt& x, const Stmt& y) {
    if (!x || !y) return x.get() == y.get();
    if (x.kind() != y.kind()) return false;
    return visit(x, [&]<class N>(const N& a) {
      const N& b = *y.as<N>();
      if constexpr (BindsVar<N>) define(a.var.get(), b.var.get());
      if constexpr (BindsBuffer<N>) {
        if (!define_buffers(a.buffer, b.buffer)) return false;
      }
      return same_fields(a, b);
    });
  }
  template <class N>
  bool same_fields(const N& a, const N& b) {
    return std::apply([&](auto... m) { return (same_value(a.*m, b.*m) && ...); }, N::fields);
  }
  template <class V>
  bool same_value(const V& a, const V& b) {
    if constexpr (std::is_same_v<V, Expr>) {
      return same(a, b);
    } else if constexpr (std::is_same_v<V, Stmt>) {
      rest_.emplace_back(&a, &b);
      return true;
    } else if constexpr (std::is_same_v<V, Buffer>) {
      return corresponds(a.get(), b.get());
    } else if constexpr (std::is_same_v<V, TensorRef>) {
      return same_tensor(a, b);
    } else if constexpr (std::is_same_v<V, IterAxis>) {
      define(a.var.get(), b.var.get());
      return same(a.extent, b.extent);
    } else if constexpr (std::is_same_v<V, double>) {
      return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
    } else if constexpr (requires { a.begin()->get(); } ||
                         std::is_same_v<V, std::vector<IterAxis>>) {
      if (a.size() != b.size()) return false;
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same_value(a[i], b[i])) return false;
      }
      return true;
    } else {
      return a == b;
    }
  }
  bool define_buffers(const Buffer& x, const Buffer& y) {
    define(x.get(), y.get());
    return x->dtype == y->dtype && x->scope == y->scope && x->space == y->space &&
           x->align_bytes == y->align_bytes && x->pools == y->pools &&
           x->offset_bytes == y->offset_bytes && same_value(x->shape, y->shape) &&
           same_value(x->strides, y->strides);
  }
  bool same_tensor(const TensorRef& x, const TensorRef& y) {
    if (x == y || (forth_.contains(x.get()) && corresponds(x.get(), y.get()))) return true;
    if (x->dtype != y->dtype || x->axes.size() != y->axes.size() || !x->body || !y->body) {
      return !x->body && !y->body && x->data != nullptr && y->data != nullptr &&
             *x->data == *y->data;
    }
    for (std::size_t i = 0; i < x->axes.size(); ++i) define(x->axes[i].get(), y->axes[i].get());
    if (!same_value(x->shape, y->shape) || !same(x->body, y->body)) return false;
    define(x.get(), y.get());
    return true;
  }
  void define(const void* x, const void* y) {
    forth_[x] = y;
    back_[y] = x;
  }
  bool corresponds(const void* x, const void* y) const {
    const auto f = forth_.find(x);
    const auto b = back_.find(y);
    if (f == forth_.end() && b == back_.end()) return x == y;
    return f != forth_.end() && b != back_.end() && f->second == y && b->second == x;
  }

  std::unordered_map<const void*, const void*> forth_, back_;
  // Statements to compare, the next one last: they nest as deep as a program is long.
  std::vector<std::pair<const Stmt*, const Stmt*>> rest_;
};

class Hasher {
 public:
  std::uint64_t result() const { return state_; }
  void add(std::uint64_t v) { state_ = hash_combine(state_, v); }
  void add(const std::string& s) { add(hash_text(s).low); }
  void add(DType t) { add(static_cast<std::uint64_t>(t.code) << 32 | t.bits << 16 | t.lanes); }
  void add(double v) { add(std::bit_cast<std::uint64_t>(v)); }
  void add(const Expr& e) {
    if (!e) return add(std::uint64_t{0});
    add(static_cast<std::uint64_t>(e.kind()) + 1);
    add(e.dtype());
    if (const auto* v = e.as<Var>()) return add_named(v, v->name);
    visit(e, [&](const auto& n) { for_each_field(n, [&](const auto& v) { add(v); }); });
  }
  void add_tree(const Stmt& root) {
    add(root);
    while (!rest_.empty()) {
      const Stmt& s = *rest_.back();
      rest_.pop_back();
      const auto inner = static_cast<std::ptrdiff_t>(rest_.size());
      add_but_inner(s);
      std::reverse(rest_.begin() + inner, rest_.end());
    }
  }
  // Statements nest as deep as a program is long: add_tree takes them from rest_.
  void add(const Stmt& s) { rest_.push_back(&s); }
  void add(const Buffer& b) { add_named(b.get(), b->name); }
  void add(const TensorRef& t) {
    add(t->dtype);
    add(static_cast<std::uint64_t>(t->axes.size()));
    for (const Expr& axis : t->axes) define(axis.get());
    if (t->body) {
      add(t->body);
    } else if (t->data != nullptr) {
      add(t->data->hash());
    } else {
      add(t->name);
    }
  }
  void add(const IterAxis& axis) {
    define(axis.var.get());
    add(axis.extent);
  }
  void add(const ConstantValue& c) {
    if (const auto* t = std::get_if<Tensor>(&c)) return add(t->hash());
    add(std::uint64_t{std::get<ConstantIndex>(c).index()});
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    for (const T& v : values) add(v);
  }
  template <class T>
  requires std::is_enum_v<T> || std::is_integral_v<T>
  void add(T v) { add(static_cast<std::uint64_t>(v)); }
  void define(const void* p) { numbers_[p] = numbers_.size() + 1; }
  void define_buffer(const Buffer& b) {
    define(b.get());
    add(b->dtype);
    add(b->scope);
    add(b->align_bytes);
    add(b->shape);
    add(b->strides);
    if (b->space) add(to_string(*b->space));
    if (b->pools.empty() && b->offset_bytes < 0) return;
    add(b->pools);
    add(b->offset_bytes);
  }

 private:
  void add_but_inner(const Stmt& s) {
    if (!s) return add(std::uint64_t{0});
    add(static_cast<std::uint64_t>(s.kind()) + 1);
    visit(s, [&]<class N>(const N& n) {
      if constexpr (BindsVar<N>) define(n.var.get());
      if constexpr (BindsBuffer<N>) define_buffer(n.buffer);
      for_each_field(n, [&](const auto& v) { add(v); });
    });
  }
  void add_named(const void* p, const std::string& name) {
    if (const auto it = numbers_.find(p); it != numbers_.end()) return add(it->second);
    add(name);
  }
  std::uint64_t state_ = 0x7465737365726131ull;
  std::vector<const Stmt*> rest_;                           // the next one last
  std::unordered_map<const void*, std::uint64_t> numbers_;  // definitions, in order of appearance
};

}  // namespace

bool equal(const Expr& x, const Expr& y) { return x.same_as(y) || Comparison().same(x, y); }
bool equal(const Stmt& x, const Stmt& y) { return x.same_as(y) || Comparison().same(x, y); }
bool equal(const PrimFunc& x, const PrimFunc& y) { return Comparison().same(x, y); }

bool equal(const std::vector<Expr>& x, const std::vector<Expr>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                    [](const Expr& a, const Expr& b) { return equal(a, b); });
}

std::uint64_t hash(const Expr& e) {
  Hasher h;
  h.add(e);
  return h.result();
}
std::uint64_t hash(const Stmt& s) {
  Hasher h;
  h.add_tree(s);
  return h.result();
}
std::uint64_t hash(const PrimFunc& f) {
  Hasher h;
  h.add(f.is_host);
  for (const Expr& dim : f.dims) h.define(dim.get());
  for (const Buffer& b : f.inputs) h.define_buffer(b);
  h.add(std::uint64_t{f.inputs.size()});
  for (const Buffer& b : f.outputs) h.define_buffer(b);
  for (const auto& [key, value] : f.attrs) {
    h.add(key);
    h.add(value);
  }
  h.add_tree(f.body);
  return h.result();
}

}  // namespace tessera::tir
