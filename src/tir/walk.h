// SPDX-License-Identifier: Apache-2.0
// Walks over the loop IR, written once for all nodes from their `fields`.
//
//   visit(e, [](const Add& a) {...}, ..., [](Otherwise) {...})  one overload a kind; without
//                                          Otherwise a missing kind does not compile
//   for_each_child(e, f), for_each_node(e, f)   f takes Expr, Stmt or Buffer, or is generic
//   map_children(e, f)                     e itself if f changed nothing
//   BlockWalk, map_block                   the statements of a block, however many definitions nest
//   Mutator, substitute                    rewriting of whole trees
//
// The variable of a loop, let or axis counts as a child, before the parts in its scope. A walk
// calls f only for what f takes: a lambda over `const Expr&` sees no statements or buffers.
#pragma once

#include <algorithm>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tir/buffer.h"
#include "tir/expr.h"
#include "tir/stmt.h"
#include "tir/tensor_expr.h"

namespace tessera::tir {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

// The opt-in catch-all of `visit`.
struct Otherwise {
  template <class T>
  Otherwise(const T&) {}  // NOLINT: converts from every node
};

template <class... F>
decltype(auto) visit(const Expr& e, F&&... f) {
  Overloaded<std::decay_t<F>...> on{std::forward<F>(f)...};
  switch (e.kind()) {
#define EXPR(N)     \
  case ExprKind::N: \
    return on(static_cast<const N&>(*e.get()));
#include "tir/expr.def"
#undef EXPR
  }
  TESSERA_UNREACHABLE("expression kind {}", static_cast<int>(e.kind()));
}

template <class... F>
decltype(auto) visit(const Stmt& s, F&&... f) {
  Overloaded<std::decay_t<F>...> on{std::forward<F>(f)...};
  switch (s.kind()) {
#define STMT(N)     \
  case StmtKind::N: \
    return on(static_cast<const N&>(*s.get()));
#include "tir/stmt.def"
#undef STMT
  }
  TESSERA_UNREACHABLE("statement kind {}", static_cast<int>(s.kind()));
}

// Kinds that define a variable (For, LetStmt) or a buffer (Allocate, AllocateConst) for their body.
template <class N>
concept BindsVar = requires {
  &N::var;
};
template <class N>
concept BindsBuffer = requires {
  &N::buffer;
  &N::body;
};
template <class N>
concept BinaryNode = requires {
  &N::a;
  &N::b;
};

template <class N, class F>
void for_each_field(const N& n, F&& f) {
  std::apply([&](auto... member) { (f(n.*member), ...); }, N::fields);
}

// A reference to what a walk calls for the parts of a node, and for which kinds of them; those that
// it does not take are passed over. Any callable converts to one for the time of a call, so that
// walks are compiled once and not for each lambda. One that maps gives a part in place of each.
template <bool kMaps>
class NodeFunction {
  template <class V>
  using Result = std::conditional_t<kMaps, V, void>;
  template <class V>
  using Function = Result<V> (*)(void* f, const V&);

 public:
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, NodeFunction>)
      NodeFunction(F&& f)  // NOLINT: converts
      : f_(const_cast<void*>(static_cast<const void*>(&f))),
        expr_(caller<Expr, std::remove_reference_t<F>>()),
        stmt_(caller<Stmt, std::remove_reference_t<F>>()),
        buffer_(caller<Buffer, std::remove_reference_t<F>>()) {}
  auto operator()(const Expr& e) const { return call(expr_, e); }
  auto operator()(const Stmt& s) const { return call(stmt_, s); }
  auto operator()(const Buffer& b) const { return call(buffer_, b); }

 private:
  // Null where F does not take a V, or does not give one where that is asked.
  template <class V, class F>
  static constexpr Function<V> caller() {
    if constexpr (std::is_invocable_r_v<Result<V>, F&, const V&>) {
      return [](void* f, const V& v) -> Result<V> { return (*static_cast<F*>(f))(v); };
    } else {
      return nullptr;
    }
  }
  template <class V>
  Result<V> call(Function<V> function, const V& v) const {
    if (function != nullptr && v) return function(f_, v);
    if constexpr (kMaps) return v;
  }

  void* f_;
  Function<Expr> expr_;
  Function<Stmt> stmt_;
  Function<Buffer> buffer_;
};
using NodeVisitor = NodeFunction<false>;
using NodeMapper = NodeFunction<true>;

void for_each_child(const Expr& e, const NodeVisitor& f);
void for_each_child(const Stmt& s, const NodeVisitor& f);
// The node and everything below it, parents first.
void for_each_node(const Expr& root, const NodeVisitor& f);
void for_each_node(const Stmt& root, const NodeVisitor& f);
// Applies f to each child; returns the node itself if no child changed.
Expr map_children(const Expr& e, const NodeMapper& f);
Stmt map_children(const Stmt& s, const NodeMapper& f);

// What a definition (Allocate, AllocateConst, View, LetStmt) is in scope for; null for other
// statements.
const Stmt* scope_of(const Stmt& s);

// The statements of a block in their order. Sequences are taken apart, and what is in a
// definition's scope follows the definition, as it does in the text: a host program has one scope
// in another for each step, which no walk may recurse into.
class BlockWalk {
 public:
  explicit BlockWalk(const Stmt& block) { rest_.push_back({&block}); }

  // Null at the end. Where the scope of a definition ends, leave(definition) is called.
  template <class F>
  const Stmt* next(F&& leave) {
    while (!rest_.empty()) {
      const Entry at = rest_.back();
      rest_.pop_back();
      if (at.leaves) {
        leave(*at.stmt);
      } else if (enter(*at.stmt)) {
        return at.stmt;
      }
    }
    return nullptr;
  }
  const Stmt* next() {
    return next([](const Stmt&) {});
  }

 private:
  struct Entry {
    const Stmt* stmt;
    bool leaves = false;
  };
  bool enter(const Stmt& s);  // false for what has nothing to show of its own

  std::vector<Entry> rest_;  // the next one last
};

// The definition with another scope.
Stmt with_scope(const Stmt& definition, const Stmt& scope);

// The block with f(s) for each statement s that is no sequence and no definition, and
// define(d, scope) for each definition and what has become of its scope.
template <class F, class D>
Stmt map_block(const Stmt& block, F&& f, D&& define) {
  std::vector<std::vector<Stmt>> open(1);
  const auto leave = [&](const Stmt& definition) {
    const Stmt scope = seq(std::move(open.back()));
    open.pop_back();
    open.back().push_back(define(definition, scope));
  };
  BlockWalk walk(block);
  while (const Stmt* s = walk.next(leave)) {
    if (scope_of(*s) != nullptr) {
      open.emplace_back();
    } else {
      open.back().push_back(f(*s));
    }
  }
  return seq(std::move(open.back()));
}
template <class F>
Stmt map_block(const Stmt& block, F&& f) {
  return map_block(block, std::forward<F>(f), with_scope);
}

using VarMap = std::unordered_map<const ExprNode*, Expr>;
using BufferMap = std::unordered_map<const BufferNode*, Buffer>;

// Rewrites a tree from the top; override what is of interest and call the base for the rest. A
// buffer whose shape or strides change becomes a new buffer, the same one wherever it is used.
class Mutator {
 public:
  virtual ~Mutator() = default;
  virtual Expr mutate(const Expr& e);  // both: with its children mutated
  virtual Stmt mutate(const Stmt& s);
  virtual Buffer mutate(const Buffer& b);

  Expr operator()(const Expr& e) { return mutate(e); }
  Stmt operator()(const Stmt& s) { return mutate(s); }
  Buffer operator()(const Buffer& b) { return mutate(b); }

 protected:
  BufferMap buffers_;  // what each buffer has become
};

// Replaces variables and buffers. A variable that the tree itself defines (a loop's) may be
// replaced by another variable only.
Expr substitute(const Expr& e, const VarMap& vars, const BufferMap& buffers = {});
Stmt substitute(const Stmt& s, const VarMap& vars, const BufferMap& buffers = {});
// A copy in which every variable and buffer that the tree defines is a new one.
Stmt with_fresh_definitions(const Stmt& s);
// Does `e` read memory?
bool reads_memory(const Expr& e);
// Does `e` read the variable?
bool uses_var(const Expr& e, const Expr& var);
// Does `s` read, write or view the buffer?
bool uses_buffer(const Stmt& s, const Buffer& buffer);

}  // namespace tessera::tir
