// SPDX-License-Identifier: Apache-2.0
#include "tir/random_function.h"

#include <array>
#include <limits>

namespace tessera::tir {
namespace {

constexpr std::array kArithmetic = {ExprKind::Add,      ExprKind::Sub,      ExprKind::Mul,
                                    ExprKind::FloorDiv, ExprKind::FloorMod, ExprKind::Min,
                                    ExprKind::Max,      ExprKind::Div};
constexpr std::array kComparisons = {ExprKind::Eq, ExprKind::Ne, ExprKind::Lt, ExprKind::Le};

Expr raw_binary(ExprKind kind, DType dtype, Expr a, Expr b) {
  // Unfolded, so that texts such as `1 + 2` are tried as well.
  switch (kind) {
    case ExprKind::Add:
      return Add::make(dtype, std::move(a), std::move(b));
    case ExprKind::Sub:
      return Sub::make(dtype, std::move(a), std::move(b));
    case ExprKind::Mul:
      return Mul::make(dtype, std::move(a), std::move(b));
    default:
      return binary(kind, std::move(a), std::move(b));
  }
}

}  // namespace

DType RandomFunctions::dtype() {
  return types[static_cast<std::size_t>(below(static_cast<int>(types.size())))];
}

Buffer RandomFunctions::buffer(const char* name) {
  std::vector<Expr> shape;
  for (int rank = below(4); rank > 0; --rank) shape.emplace_back(1 + below(4));
  Buffer b = make_buffer(name, dtype(), std::move(shape),
                         below(3) == 0 ? MemoryScope::kStack : MemoryScope::kGlobal);
  if (below(8) == 0) return make_host_buffer(b->name, b->dtype, b->shape, b->scope);
  return b;
}

Expr RandomFunctions::leaf(DType t) {
  std::vector<Expr> fitting;
  for (const Expr& v : vars) {
    if (v.dtype() == t) fitting.push_back(v);
  }
  if (!fitting.empty() && below(3) > 0) {
    return fitting[static_cast<std::size_t>(below(static_cast<int>(fitting.size())))];
  }
  if (t.is_bool()) return bool_imm(below(2) == 0);
  if (t.is_int()) return int_imm(below(40) - (t.is_signed_int() ? 20 : 0), t);
  switch (below(8)) {
    case 0:
      return float_imm(std::numeric_limits<double>::infinity(), t);
    case 1:
      return float_imm(-0.0, t);
    case 2:
      return float_imm(1e-7 * below(1000), t);
    default:
      return float_imm((below(2000) - 1000) / 7.0, t);
  }
}

Expr RandomFunctions::condition(int depth) {
  const DType t = below(2) == 0 ? kInt64 : dtype();
  switch (below(5)) {
    case 0:
      return Not::make(kBool, expr(kBool, depth - 1));
    case 1:
      return And::make(kBool, expr(kBool, depth - 1), expr(kBool, depth - 1));
    case 2:
      return Or::make(kBool, expr(kBool, depth - 1), expr(kBool, depth - 1));
    default:
      return binary(kComparisons[static_cast<std::size_t>(below(kComparisons.size()))],
                    expr(t, depth - 1), expr(t, depth - 1));
  }
}

Expr RandomFunctions::expr(DType t, int depth) {
  if (depth <= 0 || below(6) == 0) return leaf(t);
  if (t.is_bool()) return condition(depth);
  switch (below(7)) {
    case 0:
      return Select::make(t, expr(kBool, depth - 1), expr(t, depth - 1), expr(t, depth - 1));
    case 1: {
      const DType from = dtype();
      return from == t ? leaf(t) : Cast::make(t, expr(from, depth - 1));
    }
    case 2:
      if (t.is_float()) return call(below(2) == 0 ? "exp" : "tanh", {expr(t, depth - 1)});
      break;
    case 3:
      for (const Buffer& b : buffers) {
        if (b->dtype == t) return load(b, indices(b, depth - 2));
      }
      break;
    default:
      break;
  }
  const auto kind = kArithmetic[static_cast<std::size_t>(below(8))];
  Expr right = expr(t, depth - 1);
  // Mostly by literals, as indices are divided; by what may be zero too.
  const bool divides = kind == ExprKind::FloorDiv || kind == ExprKind::FloorMod;
  if (divides && below(3) != 0) right = imm(1 + below(9), t);
  return raw_binary(kind == ExprKind::Div || !t.is_float() || kind < ExprKind::FloorDiv ||
                            kind > ExprKind::FloorMod
                        ? kind
                        : ExprKind::Div,
                    t, expr(t, depth - 1), std::move(right));
}

std::vector<Expr> RandomFunctions::indices(const Buffer& b, int depth) {
  std::vector<Expr> out;
  for (const Expr& extent : b->shape) out.push_back(floor_mod(expr(kInt64, depth), extent));
  return out;
}

Stmt RandomFunctions::loop(int depth) {
  constexpr std::array kKinds = {ForKind::kSerial, ForKind::kVectorized, ForKind::kUnrolled};
  const auto kind = plain ? ForKind::kSerial : kKinds[static_cast<std::size_t>(below(3))];
  const Expr var = make_var(below(2) == 0 ? "i" : "j");
  Expr min = below(2) == 0 ? Expr(0) : expr(kInt64, 1);
  vars.push_back(var);
  Stmt body = stmt(depth - 1);
  vars.pop_back();
  return For::make(var, std::move(min), Expr(1 + below(5)), kind, std::move(body));
}

Stmt RandomFunctions::definition(int depth) {
  if (plain || below(2) == 0) {
    const DType t = dtype();
    const Expr var = make_var("x", t);
    Expr value = expr(t, 2);
    vars.push_back(var);
    Stmt body = stmt(depth - 1);
    vars.pop_back();
    return LetStmt::make(var, std::move(value), std::move(body));
  }
  const bool constant = below(2) == 0;
  Buffer b = buffer("b");
  if (constant) b = make_buffer("b", b->dtype, b->shape, MemoryScope::kConstant);
  buffers.push_back(b);
  Stmt body = stmt(depth - 1);
  buffers.pop_back();
  if (!constant) return Allocate::make(b, std::move(body));
  if (below(4) == 0) return AllocateConst::make(b, ConstantIndex(below(9)), std::move(body));
  std::vector<std::int64_t> shape;
  for (const Expr& extent : b->shape) shape.push_back(*as_int(extent));
  std::vector<double> values(static_cast<std::size_t>(constant_size(b)));
  for (double& v : values) v = b->dtype.is_bool() ? below(2) : below(100) / 8.0;
  return AllocateConst::make(b, tensor_from_doubles(shape, b->dtype, values), std::move(body));
}

Stmt RandomFunctions::stmt(int depth) {
  if (depth > 0) {
    switch (below(5)) {
      case 0:
        return loop(depth);
      case 1:
        return definition(depth);
      case 2:
        return seq({stmt(depth - 1), stmt(depth - 1)});
      case 3:
        return IfThenElse::make(expr(kBool, 2), stmt(depth - 1),
                                below(2) == 0 ? Stmt() : stmt(depth - 1));
      default:
        break;
    }
  }
  std::vector<Buffer> writable = buffers;
  std::erase_if(writable, [](const Buffer& b) { return b->scope == MemoryScope::kConstant; });
  const Buffer& b = writable[static_cast<std::size_t>(below(static_cast<int>(writable.size())))];
  return Store::make(b, indices(b, 2), expr(b->dtype, 3));
}

PrimFunc RandomFunctions::function() {
  PrimFunc f;
  vars.clear();
  for (int i = below(3); i > 0; --i) f.inputs.push_back(buffer("in"));
  f.outputs.push_back(buffer("out"));
  if (below(3) == 0) f.dims.push_back(make_var("n"));
  vars = f.dims;
  buffers = f.inputs;
  buffers.insert(buffers.end(), f.outputs.begin(), f.outputs.end());
  if (below(2) == 0) f.attrs["ops"] = "a \"quoted\" \\ text\nof two lines";
  f.body = stmt(5);
  return f;
}

}  // namespace tessera::tir
