// SPDX-License-Identifier: Apache-2.0
// Expressions of the loop IR: an immutable tree with shared handles.
//
//   e ::= 3 | 2.5f | "text" | x | dtype(e) | e + e | e - e | e * e | e / e | e // e | e % e
//       | min(e, e) | max(e, e) | e == e | e != e | e < e | e <= e | e and e | e or e | not e
//       | select(c, a, b) | B[e, ...] | f(e, ...) | ramp(base, stride, lanes) | broadcast(e, lanes)
//       | reduce(op, axes, e)      only inside a tensor definition, before lowering
//       | T(e, ...)                a read of a tensor definition, before lowering
//
// Semantics. Operands of a binary node have one dtype; comparisons give bool. Indices are int64.
// Integers narrower than 32 bits wrap; overflow of wider ones is undefined. FloorDiv and
// FloorMod round towards minus infinity; Div is IEEE division for floats and truncating for
// integers. Integer division is total: by zero the quotient and the rest are 0, and the smallest
// number divided by -1 is itself. Min and Max propagate NaN of either operand. Select evaluates
// one branch: a load in the branch not taken need not be in bounds. Loads outside a buffer are
// undefined.
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "support/check.h"
#include "tir/node.h"

namespace tessera::tir {

struct ExprNode : RefCounted {
  ExprKind kind;
  DType dtype;
  ExprNode(ExprKind k, DType t) : kind(k), dtype(t) {}
  static void destroy(const ExprNode* node);  // by kind; iterative on deep trees
};

// A handle; null means "no expression". Integers convert to int64 constants.
class Expr {
 public:
  Expr() = default;
  Expr(std::int64_t value);                                    // NOLINT: an index literal
  Expr(int value) : Expr(static_cast<std::int64_t>(value)) {}  // NOLINT
  explicit Expr(Ref<const ExprNode> node) : node_(std::move(node)) {}

  explicit operator bool() const { return static_cast<bool>(node_); }
  const ExprNode* get() const { return node_.get(); }
  const ExprNode* operator->() const { return node_.get(); }
  ExprKind kind() const { return node_->kind; }
  DType dtype() const { return node_->dtype; }
  // The node as N, or null if it is of another kind.
  template <class N>
  const N* as() const {
    return node_ && node_->kind == KindOf<N>::value ? static_cast<const N*>(node_.get()) : nullptr;
  }
  // Identity, not structure; see tir/compare.h for structural equality.
  bool same_as(const Expr& o) const { return node_ == o.node_; }

 private:
  Ref<const ExprNode> node_;
};

template <class N>
struct ExprOf : ExprNode {
  explicit ExprOf(DType t) : ExprNode(KindOf<N>::value, t) {}
  // make(dtype, fields in the order of N::fields...).
  template <class... A>
  static Expr make(DType dtype, A&&... a) {
    auto* n = new N(dtype);
    Ref<const ExprNode> owner(n);
    assign(n, std::forward_as_tuple(std::forward<A>(a)...), std::index_sequence_for<A...>{});
    return Expr(std::move(owner));
  }

 private:
  template <class T, std::size_t... I>
  static void assign(N* n, T&& values, std::index_sequence<I...>) {
    static_assert(sizeof...(I) == std::tuple_size_v<std::remove_cvref_t<decltype(N::fields)>>);
    ((n->*std::get<I>(N::fields) = std::get<I>(std::forward<T>(values))), ...);
  }
};

struct BufferNode;
using Buffer = Ref<const BufferNode>;  // tir/buffer.h; compared by identity
struct TensorNode;
using TensorRef = Ref<const TensorNode>;  // tir/tensor_expr.h
struct IterAxis;                          // tir/tensor_expr.h

#define TESSERA_EXPR_NODE(N) using ExprOf<N>::ExprOf

// Literals have the dtype of the node.
struct IntImm : ExprOf<IntImm> {
  TESSERA_EXPR_NODE(IntImm);
  std::int64_t value = 0;
  static constexpr auto fields = std::tuple{&IntImm::value};
};
struct FloatImm : ExprOf<FloatImm> {
  TESSERA_EXPR_NODE(FloatImm);
  double value = 0;
  static constexpr auto fields = std::tuple{&FloatImm::value};
};
struct StringImm : ExprOf<StringImm> {
  TESSERA_EXPR_NODE(StringImm);
  std::string value;
  static constexpr auto fields = std::tuple{&StringImm::value};
};
// Compared by identity; the name is a hint that printers make unique.
struct Var : ExprOf<Var> {
  TESSERA_EXPR_NODE(Var);
  std::string name;
  static constexpr auto fields = std::tuple{&Var::name};
};
// Conversion to the node's dtype, C rules; float to integer truncates, out of range is undefined.
struct Cast : ExprOf<Cast> {
  TESSERA_EXPR_NODE(Cast);
  Expr value;
  static constexpr auto fields = std::tuple{&Cast::value};
};

#define TESSERA_BINARY_EXPR(N)                               \
  struct N : ExprOf<N> {                                     \
    TESSERA_EXPR_NODE(N);                                    \
    Expr a, b;                                               \
    static constexpr auto fields = std::tuple{&N::a, &N::b}; \
  }
TESSERA_BINARY_EXPR(Add);
TESSERA_BINARY_EXPR(Sub);
TESSERA_BINARY_EXPR(Mul);
TESSERA_BINARY_EXPR(Div);
TESSERA_BINARY_EXPR(FloorDiv);
TESSERA_BINARY_EXPR(FloorMod);
TESSERA_BINARY_EXPR(Min);
TESSERA_BINARY_EXPR(Max);
TESSERA_BINARY_EXPR(Eq);
TESSERA_BINARY_EXPR(Ne);
TESSERA_BINARY_EXPR(Lt);
TESSERA_BINARY_EXPR(Le);
TESSERA_BINARY_EXPR(And);
TESSERA_BINARY_EXPR(Or);
#undef TESSERA_BINARY_EXPR

struct Not : ExprOf<Not> {
  TESSERA_EXPR_NODE(Not);
  Expr value;
  static constexpr auto fields = std::tuple{&Not::value};
};
struct Select : ExprOf<Select> {
  TESSERA_EXPR_NODE(Select);
  Expr condition, yes, no;
  static constexpr auto fields = std::tuple{&Select::condition, &Select::yes, &Select::no};
};
// B[i, j]; as many indices as the buffer has dimensions.
struct Load : ExprOf<Load> {
  TESSERA_EXPR_NODE(Load);
  Buffer buffer;
  std::vector<Expr> indices;
  static constexpr auto fields = std::tuple{&Load::buffer, &Load::indices};
};
// A pure scalar function by name (intrinsics.h lists them): exp, erf, tanh, sqrt, pow, ...
struct Call : ExprOf<Call> {
  TESSERA_EXPR_NODE(Call);
  std::string name;
  std::vector<Expr> args;
  static constexpr auto fields = std::tuple{&Call::name, &Call::args};
};
// base, base + stride, ...; the node's dtype has `lanes` lanes.
struct Ramp : ExprOf<Ramp> {
  TESSERA_EXPR_NODE(Ramp);
  Expr base, stride;
  int lanes = 1;
  static constexpr auto fields = std::tuple{&Ramp::base, &Ramp::stride, &Ramp::lanes};
};
struct Broadcast : ExprOf<Broadcast> {
  TESSERA_EXPR_NODE(Broadcast);
  Expr value;
  int lanes = 1;
  static constexpr auto fields = std::tuple{&Broadcast::value, &Broadcast::lanes};
};

// What a reduction does; each has its identity in the dtype reduced.
enum class ReduceOp : std::uint8_t { kSum, kProd, kMax, kMin, kAny, kAll };

// The reduction of `value` over `axes`; only as the whole body of a tensor definition.
struct Reduce : ExprOf<Reduce> {
  TESSERA_EXPR_NODE(Reduce);
  ReduceOp op = ReduceOp::kSum;
  std::vector<IterAxis> axes;
  Expr value;
  static constexpr auto fields = std::tuple{&Reduce::op, &Reduce::axes, &Reduce::value};
};
// An element of a tensor definition.
struct Read : ExprOf<Read> {
  TESSERA_EXPR_NODE(Read);
  TensorRef tensor;
  std::vector<Expr> indices;
  static constexpr auto fields = std::tuple{&Read::tensor, &Read::indices};
};
#undef TESSERA_EXPR_NODE

}  // namespace tessera::tir

#include "tir/expr_ops.h"  // IWYU pragma: export
