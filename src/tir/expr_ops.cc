// SPDX-License-Identifier: Apache-2.0
#include "tir/expr_ops.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "support/f16.h"
#include "tir/buffer.h"

namespace tessera::tir {
namespace {

std::optional<bool> compare_ints(ExprKind kind, std::int64_t a, std::int64_t b, bool is_unsigned) {
  const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
  switch (kind) {
    case ExprKind::Eq:
      return a == b;
    case ExprKind::Ne:
      return a != b;
    case ExprKind::Lt:
      return is_unsigned ? x < y : a < b;
    case ExprKind::Le:
      return is_unsigned ? x <= y : a <= b;
    case ExprKind::And:
      return a != 0 && b != 0;
    case ExprKind::Or:
      return a != 0 || b != 0;
    default:
      return std::nullopt;
  }
}

std::int64_t divide(ExprKind kind, std::int64_t a, std::int64_t b, bool is_unsigned) {
  if (is_unsigned) {
    if (b == 0) return 0;
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return static_cast<std::int64_t>(kind == ExprKind::FloorMod ? x % y : x / y);
  }
  if (kind == ExprKind::Div) return trunc_div(a, b);
  return kind == ExprKind::FloorDiv ? floor_div(a, b) : floor_mod(a, b);
}

// Nothing where the result is undefined or does not fit 64 bits.
std::optional<std::int64_t> fold_ints(ExprKind kind, std::int64_t a, std::int64_t b, DType dtype) {
  std::int64_t r = 0;
  bool overflow = false;
  const bool less = *compare_ints(ExprKind::Lt, a, b, dtype.is_unsigned_int());
  switch (kind) {
    case ExprKind::Add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case ExprKind::Sub:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case ExprKind::Mul:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case ExprKind::Min:
      return less ? a : b;
    case ExprKind::Max:
      return less ? b : a;
    default:
      return wrap_int(divide(kind, a, b, dtype.is_unsigned_int()), dtype);
  }
  if (overflow) return std::nullopt;
  // Beyond 32 bits overflow is undefined, so it is left to whoever runs the program.
  const std::int64_t wrapped = wrap_int(r, dtype);
  if (wrapped != r && dtype.bits >= 32) return std::nullopt;
  return wrapped;
}

std::optional<bool> compare_floats(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::Eq:
      return a == b;
    case ExprKind::Ne:
      return a != b;
    case ExprKind::Lt:
      return a < b;
    case ExprKind::Le:
      return a <= b;
    default:
      return std::nullopt;
  }
}

std::optional<double> fold_floats(ExprKind kind, double a, double b) {
  switch (kind) {
    case ExprKind::Add:
      return a + b;
    case ExprKind::Sub:
      return a - b;
    case ExprKind::Mul:
      return a * b;
    case ExprKind::Div:
      return a / b;
    case ExprKind::FloorDiv:
      return std::floor(a / b);
    case ExprKind::FloorMod:
      return a - b * std::floor(a / b);
    case ExprKind::Min:
      return std::isnan(a) || a < b ? a : b;
    case ExprKind::Max:
      return std::isnan(a) || a > b ? a : b;
    default:
      return std::nullopt;
  }
}

Expr fold(ExprKind kind, const Expr& a, const Expr& b) {
  const DType dtype = a.dtype();
  if (const auto* x = a.as<IntImm>(), *y = b.as<IntImm>(); x != nullptr && y != nullptr) {
    const bool is_unsigned = dtype.is_unsigned_int();
    if (const auto r = compare_ints(kind, x->value, y->value, is_unsigned)) return bool_imm(*r);
    if (const auto r = fold_ints(kind, x->value, y->value, dtype)) return int_imm(*r, dtype);
  }
  if (const auto* x = a.as<FloatImm>(), *y = b.as<FloatImm>(); x != nullptr && y != nullptr) {
    if (const auto r = compare_floats(kind, x->value, y->value)) return bool_imm(*r);
    if (const auto r = fold_floats(kind, x->value, y->value)) return float_imm(*r, dtype);
  }
  return {};
}

// A literal of int64 takes the dtype of the other operand; scalars spread over the other's lanes.
void match_dtypes(Expr& a, Expr& b) {
  if (a.dtype() == b.dtype()) return;
  const auto adapt = [](Expr& literal, DType wanted) {
    const std::int64_t* value = as_int(literal);
    if (value == nullptr || literal.dtype() != kInt64) return;
    literal = wanted.is_float() ? float_imm(static_cast<double>(*value), wanted.element())
                                : int_imm(*value, wanted.element());
  };
  adapt(a, b.dtype());
  adapt(b, a.dtype());
  if (a.dtype().element() != b.dtype().element()) return;
  if (a.dtype().lanes == 1) a = broadcast(std::move(a), b.dtype().lanes);
  if (b.dtype().lanes == 1) b = broadcast(std::move(b), a.dtype().lanes);
}

template <class N>
Expr make_binary(Expr a, Expr b) {
  match_dtypes(a, b);
  TESSERA_CHECK(a.dtype() == b.dtype(), "operands have types {} and {}", to_string(a.dtype()),
                to_string(b.dtype()));
  if (Expr folded = fold(KindOf<N>::value, a, b)) return folded;
  constexpr ExprKind kKind = KindOf<N>::value;
  constexpr bool kCompares = kKind >= ExprKind::Eq && kKind <= ExprKind::Or;
  const DType dtype = kCompares ? kBool.with_lanes(a.dtype().lanes) : a.dtype();
  return N::make(dtype, std::move(a), std::move(b));
}

}  // namespace

std::int64_t trunc_div(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  return a / b;
}

std::int64_t trunc_mod(std::int64_t a, std::int64_t b) { return b == 0 || b == -1 ? 0 : a % b; }

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const std::int64_t q = trunc_div(a, b);
  return trunc_mod(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  const std::int64_t r = trunc_mod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

std::uint64_t int_pow(std::uint64_t x, std::uint64_t n) {
  std::uint64_t product = 1;
  for (; n != 0; n >>= 1, x *= x) {
    if ((n & 1) != 0) product *= x;
  }
  return product;
}

std::int64_t int_pow(std::int64_t x, std::int64_t n) {
  // 2^64 - |n| is as odd as n is, which is all that the powers of 1 and -1 ask.
  if (n < 0 && x != 1 && x != -1) return 0;
  return static_cast<std::int64_t>(
      int_pow(static_cast<std::uint64_t>(x), static_cast<std::uint64_t>(n)));
}

std::int64_t wrap_int(std::int64_t value, DType dtype) {
  if (dtype.is_bool()) return value != 0 ? 1 : 0;
  if (dtype.bits >= 64) return value;
  const int spare = 64 - static_cast<int>(dtype.bits);
  const std::uint64_t shifted = static_cast<std::uint64_t>(value) << spare;
  return dtype.is_unsigned_int() ? static_cast<std::int64_t>(shifted >> spare)
                                 : static_cast<std::int64_t>(shifted) >> spare;
}

double round_float(double value, DType dtype) {
  if (dtype.code == TypeCode::kBFloat) return bfloat16_value(bfloat16_bits(value));
  if (dtype.bits == 16) return float16_value(float16_bits(value));
  return dtype.bits == 32 ? static_cast<double>(static_cast<float>(value)) : value;
}

Expr int_imm(std::int64_t value, DType dtype) {
  TESSERA_CHECK(dtype.is_int() || dtype.is_bool(), "integer literal of type {}", to_string(dtype));
  return IntImm::make(dtype, wrap_int(value, dtype));
}
Expr float_imm(double value, DType dtype) {
  TESSERA_CHECK(dtype.is_float(), "float literal of type {}", to_string(dtype));
  // One NaN, so that equal literals are equal bits.
  if (std::isnan(value)) value = std::numeric_limits<double>::quiet_NaN();
  return FloatImm::make(dtype, round_float(value, dtype));
}
Expr imm(double value, DType dtype) {
  return dtype.is_float() ? float_imm(value, dtype)
                          : int_imm(static_cast<std::int64_t>(value), dtype);
}
Expr bool_imm(bool value) { return int_imm(value ? 1 : 0, kBool); }
Expr string_imm(std::string value) {
  return StringImm::make(DType{TypeCode::kHandle, 64, 1}, std::move(value));
}
Expr make_var(std::string name, DType dtype) { return Var::make(dtype, std::move(name)); }

namespace {

// The literal converted, or null where that is undefined.
Expr cast_int(const IntImm& v, DType to) {
  if (!to.is_float()) return int_imm(v.value, to);
  return float_imm(v.dtype == kUInt64 ? static_cast<double>(static_cast<std::uint64_t>(v.value))
                                      : static_cast<double>(v.value),
                   to);
}
Expr cast_float(double v, DType to) {
  if (to.is_float()) return float_imm(v, to);
  if (to.is_bool()) return bool_imm(v != 0);
  const double whole = std::trunc(v);
  const double low = to.is_unsigned_int() ? 0 : -std::ldexp(1, to.bits - 1);
  const double high = std::ldexp(1, to.is_unsigned_int() ? to.bits : to.bits - 1);
  if (!(whole >= low && whole < high)) return {};
  return int_imm(whole >= 0x1p63 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(whole))
                                 : static_cast<std::int64_t>(whole),
                 to);
}

}  // namespace

Expr cast(Expr value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (dtype.lanes == 1 && dtype.code != TypeCode::kHandle) {
    Expr folded;
    if (const auto* v = value.as<IntImm>()) folded = cast_int(*v, dtype);
    if (const auto* v = value.as<FloatImm>()) folded = cast_float(v->value, dtype);
    if (folded) return folded;
  }
  return Cast::make(dtype, std::move(value));
}

Expr operator+(Expr a, Expr b) { return make_binary<Add>(std::move(a), std::move(b)); }
Expr operator-(Expr a, Expr b) { return make_binary<Sub>(std::move(a), std::move(b)); }
Expr operator*(Expr a, Expr b) { return make_binary<Mul>(std::move(a), std::move(b)); }
Expr operator/(Expr a, Expr b) { return make_binary<Div>(std::move(a), std::move(b)); }
Expr operator-(Expr a) {
  // -0.0 - x is -x for every float, zeros included; 0.0 - x is not.
  Expr zero =
      a.dtype().is_float() ? float_imm(-0.0, a.dtype().element()) : int_imm(0, a.dtype().element());
  return make_binary<Sub>(std::move(zero), std::move(a));
}
Expr floor_div(Expr a, Expr b) { return make_binary<FloorDiv>(std::move(a), std::move(b)); }
Expr floor_mod(Expr a, Expr b) { return make_binary<FloorMod>(std::move(a), std::move(b)); }
Expr min(Expr a, Expr b) { return make_binary<Min>(std::move(a), std::move(b)); }
Expr max(Expr a, Expr b) { return make_binary<Max>(std::move(a), std::move(b)); }
Expr eq(Expr a, Expr b) { return make_binary<Eq>(std::move(a), std::move(b)); }
Expr ne(Expr a, Expr b) { return make_binary<Ne>(std::move(a), std::move(b)); }
Expr lt(Expr a, Expr b) { return make_binary<Lt>(std::move(a), std::move(b)); }
Expr le(Expr a, Expr b) { return make_binary<Le>(std::move(a), std::move(b)); }
Expr gt(Expr a, Expr b) { return lt(std::move(b), std::move(a)); }
Expr ge(Expr a, Expr b) { return le(std::move(b), std::move(a)); }
Expr logical_and(Expr a, Expr b) { return make_binary<And>(std::move(a), std::move(b)); }
Expr logical_or(Expr a, Expr b) { return make_binary<Or>(std::move(a), std::move(b)); }
Expr logical_not(Expr a) {
  if (const auto* v = a.as<IntImm>()) return bool_imm(v->value == 0);
  const DType dtype = a.dtype();
  TESSERA_CHECK(dtype.is_bool(), "`not` of a {}", to_string(dtype));
  return Not::make(dtype, std::move(a));
}

Expr binary(ExprKind kind, Expr a, Expr b) {
  switch (kind) {
#define BINARY(N)   \
  case ExprKind::N: \
    return make_binary<N>(std::move(a), std::move(b));
#include "tir/binary.def"
#undef BINARY
    default:
      TESSERA_UNREACHABLE("expression kind {} has not two operands", static_cast<int>(kind));
  }
}

Expr select(Expr condition, Expr yes, Expr no) {
  match_dtypes(yes, no);
  TESSERA_CHECK(condition.dtype().is_bool(), "the condition of `select` is {}",
                to_string(condition.dtype()));
  TESSERA_CHECK(yes.dtype() == no.dtype(), "branches of `select` have types {} and {}",
                to_string(yes.dtype()), to_string(no.dtype()));
  if (const auto* c = condition.as<IntImm>()) return c->value != 0 ? yes : no;
  const DType dtype = yes.dtype();
  return Select::make(dtype, std::move(condition), std::move(yes), std::move(no));
}

Expr call(std::string name, std::vector<Expr> args) {
  TESSERA_CHECK(!args.empty(), "a call of `{}` without arguments needs its type", name);
  const DType dtype = args.front().dtype();
  return Call::make(dtype, std::move(name), std::move(args));
}
Expr call(std::string name, std::vector<Expr> args, DType dtype) {
  return Call::make(dtype, std::move(name), std::move(args));
}

Expr load(Buffer buffer, std::vector<Expr> indices) {
  TESSERA_CHECK(indices.size() == buffer->shape.size(), "`{}` has {} dimensions, {} indices given",
                buffer->name, buffer->shape.size(), indices.size());
  int lanes = 1;
  for (const Expr& i : indices) lanes = std::max<int>(lanes, i.dtype().lanes);
  const DType dtype = buffer->dtype.with_lanes(lanes);
  return Load::make(dtype, std::move(buffer), std::move(indices));
}

Expr broadcast(Expr value, int lanes) {
  if (lanes == 1) return value;
  const DType dtype = value.dtype().with_lanes(lanes);
  return Broadcast::make(dtype, std::move(value), lanes);
}
Expr ramp(Expr base, Expr stride, int lanes) {
  if (lanes == 1) return base;
  const DType dtype = base.dtype().with_lanes(lanes);
  return Ramp::make(dtype, std::move(base), std::move(stride), lanes);
}

const std::int64_t* as_int(const Expr& e) {
  const auto* v = e.as<IntImm>();
  return v != nullptr ? &v->value : nullptr;
}
bool is_int(const Expr& e, std::int64_t value) {
  const std::int64_t* v = as_int(e);
  return v != nullptr && *v == value;
}

}  // namespace tessera::tir
