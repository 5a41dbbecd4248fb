// SPDX-License-Identifier: Apache-2.0
#include "emit/kernel_expr.h"

#include <cmath>
#include <utility>

#include "emit/c_text.h"
#include "emit/flat_offset.h"
#include "tir/intrinsics.h"
#include "tir/print.h"
#include "tir/walk.h"

namespace tessera::emit {
namespace {

using namespace tir;  // the nodes, of which this file names nearly all

// How tightly C++ operators bind.
enum Level : int {
  kAny,
  kTernary,
  kOrElse,
  kAndAlso,
  kBits,
  kEquality,
  kRelation,
  kShift,
  kSum,
  kProduct,
  kPrefix,
  kPrimary,
};

struct Text {
  Text(Source t, int l = kPrimary) : text(std::move(t)), level(l) {}  // NOLINT: a text is one
  Text(Literal t, int l = kPrimary) : text(t), level(l) {}            // NOLINT
  Source text;
  int level;
};

struct Operator {
  Literal text;
  int level, left, right;  // of the whole, and what its operands need at least
};

Source float_literal(double v, DType dtype) {
  const bool wide = dtype == kFloat64;
  if (std::isnan(v)) return wide ? Literal("__builtin_nan(\"\")") : "__builtin_nanf(\"\")";
  if (std::isinf(v)) {
    return source("{}{}", v < 0 ? Literal("-") : "",
                  wide ? Literal("__builtin_inf()") : "__builtin_inff()");
  }
  const auto narrow = static_cast<float>(v);
  Source text = wide || static_cast<double>(narrow) != v ? source("{}", v) : source("{}", narrow);
  if (text.text().find_first_of(".e") == std::string::npos) text += ".0";
  return wide ? text : text + "f";
}

Text int_literal(std::int64_t v, DType dtype) {
  if (dtype.is_bool()) return v != 0 ? Literal("true") : "false";
  if (dtype.is_unsigned_int()) {
    return {source("{}u{}", static_cast<std::uint64_t>(v), dtype.bits == 64 ? Literal("ll") : "")};
  }
  if (v == INT64_MIN)
    return Literal("INT64_MIN");  // -9223372036854775808 is minus a literal too large
  return {source("{}", v), v < 0 ? kPrefix : kPrimary};
}

bool is_narrow_int(DType t) { return t.is_int() && t.bits < 32; }
bool is_half(DType t) { return t.is_float() && t.bits == 16; }
bool has_half_form(std::string_view f) {
  return f == "erf" || f == "tanh" || f == "sigmoid" || f == "exp";
}

class ExprWriter {
 public:
  explicit ExprWriter(KernelScope& scope) : scope_(scope) {}

  Source guard(const Expr& condition, int level = kAny) {
    const bool outer = std::exchange(in_guard_, scope_.hides_guards);
    Source out = text(condition, level);
    in_guard_ = outer;
    return out;
  }

  Source text(const Expr& e, int level = kAny) {
    const Text t = write(e);
    return t.level < level ? "(" + t.text + ")" : t.text;
  }
  Source element(const Buffer& b, const std::vector<Expr>& indices) {
    const Source& name = scope_.name(b);
    if (scope_.scalars.contains(b.get())) return name;
    return source("{}[{}]", name, text(simplify_indices(flat_offset(b, indices), scope_.bounds)));
  }

 private:
  Text write(const Expr& e);
  Text call(const Call& n);
  Text division(const Expr& e, const Expr& a, const Expr& b);
  Text truncating_division(const Div& n);
  Interval range(const Expr& e) { return range_of(index_form(e, scope_.bounds), scope_.bounds); }
  // Neither 0 nor, of signed integers, -1: what the operators of C++ divide by without trapping.
  bool is_safe_divisor(const Expr& b) {
    if (const std::int64_t* literal = as_int(b)) {
      return *literal != 0 && (*literal != -1 || b.dtype().is_unsigned_int());
    }
    const Interval r = range(b);
    return r.has_min() && r.min > 0;
  }
  Text conversion(const Cast& n);
  // Arithmetic of C++ happens in int where types are narrower: brought back to the type.
  Text narrowed(DType dtype, Text t) {
    if (!is_narrow_int(dtype)) return t;
    return {source("{}({})", value_type(dtype), t.text)};
  }
  Text infix(const Operator& op, const Expr& a, const Expr& b) {
    return {source("{} {} {}", text(a, op.left), op.text, text(b, op.right)), op.level};
  }
  Text arithmetic(const Operator& op, DType dtype, const Expr& a, const Expr& b) {
    return narrowed(dtype, infix(op, a, b));
  }
  Text comparison(const Operator& op, const Expr& e, const Expr& a, const Expr& b);
  Source hidden(std::int64_t limit);
  // `a && b`, `a || b`: does `a` decide whether `b` is read?
  Text junction(const Operator& op, const Expr& a, const Expr& b) {
    Source left = reads_memory(b) ? guard(a, op.left) : text(a, op.left);
    return {source("{} {} {}", std::move(left), op.text, text(b, op.right)), op.level};
  }
  Text both(const Expr& a, const Expr& b);
  Text choice(const Select& n) {
    const bool guards = reads_memory(n.yes) || reads_memory(n.no);
    return {
        source("{} ? {} : {}", guards ? guard(n.condition, kOrElse) : text(n.condition, kOrElse),
               text(n.yes, kOrElse), text(n.no, kTernary)),
        kTernary};
  }
  // A function template whose type cannot be deduced from operands such as `3`.
  Text function(Literal name, DType dtype, const Expr& a, const Expr& b) {
    return {source("tk::{}<{}>({}, {})", name, value_type(dtype), text(a), text(b))};
  }

  KernelScope& scope_;
  bool in_guard_ = false;
};

Source ExprWriter::hidden(std::int64_t limit) {
  if (scope_.guard_zero.empty()) scope_.guard_zero = scope_.fresh("zero");
  scope_.needs_guard_zero = true;
  return limit == 0 ? scope_.guard_zero : source("{} + {}", scope_.guard_zero, limit);
}

Text ExprWriter::comparison(const Operator& op, const Expr& e, const Expr& a, const Expr& b) {
  const bool hides = in_guard_ && a.dtype() == kInt64;
  // What is read from memory, no compiler knows.
  if (!hides || reads_memory(e) || is_uniform(e, scope_.lanes, scope_.bounds)) {
    return infix(op, a, b);
  }
  const std::int64_t* limit = as_int(b);
  const Source right = limit != nullptr ? hidden(*limit) : hidden(0) + " + " + text(b, kSum);
  return {source("{} {} {}", text(a, op.left), op.text, right), op.level};
}

Text ExprWriter::both(const Expr& a, const Expr& b) {
  const auto window = in_guard_ ? window_of(a, b, scope_.bounds) : std::nullopt;
  const auto is_plain = [&](const Expr& e) { return is_uniform(e, scope_.lanes, scope_.bounds); };
  if (!window || is_plain(a) || is_plain(b)) {
    return junction({"&&", kAndAlso, kAndAlso, kBits}, a, b);
  }
  return {source("tk::is_inside({}, {})", text(window->index), hidden(window->size))};
}

Text ExprWriter::division(const Expr& e, const Expr& a, const Expr& b) {
  const bool quotient = e.kind() == ExprKind::FloorDiv;
  if (e.dtype().is_float()) {
    const Source ratio = text(a, kProduct) + " / " + text(b, kPrefix);
    if (quotient) return {source("tk::floor({})", ratio)};
    return {source("{} - {} * tk::floor({})", text(a, kSum), text(b, kProduct), ratio), kSum};
  }
  // The operators of C++ round towards zero, which is the same for what is not negative.
  const auto not_negative = [&](const Expr& x) {
    if (x.dtype().is_unsigned_int()) return true;
    const Interval r = range(x);
    return r.has_min() && r.min >= 0;
  };
  if (not_negative(a) && not_negative(b)) {
    if (!is_safe_divisor(b)) {
      return function(quotient ? Literal("trunc_div") : "floor_mod", e.dtype(), a, b);
    }
    const Operator op{quotient ? Literal("/") : "%", kProduct, kProduct, kPrefix};
    return arithmetic(op, e.dtype(), a, b);
  }
  return function(quotient ? Literal("floor_div") : "floor_mod", e.dtype(), a, b);
}

Text ExprWriter::truncating_division(const Div& n) {
  if (scope_.has_half_functions && n.dtype.is_float() && n.dtype.bits <= 32) {
    return {source("tk::div_half({}, {})", text(n.a), text(n.b))};
  }
  if (n.dtype.is_float() || is_safe_divisor(n.b)) {
    return arithmetic({"/", kProduct, kProduct, kPrefix}, n.dtype, n.a, n.b);
  }
  return function("trunc_div", n.dtype, n.a, n.b);
}

Text ExprWriter::conversion(const Cast& n) {
  if (n.dtype.is_bool()) return {text(n.value, kEquality + 1) + " != 0", kEquality};
  if (is_half(n.dtype)) {  // rounded to the type, then computed with as float
    return {source("float({}({}))", storage_type(n.dtype), text(n.value))};
  }
  if (is_half(n.value.dtype()) && n.dtype == kFloat32) return write(n.value);
  return {source("{}({})", value_type(n.dtype), text(n.value))};
}

Text ExprWriter::call(const Call& n) {
  const Intrinsic* f = find_intrinsic(n.name);
  TESSERA_CHECK(f != nullptr, "no function `{}`", n.name);
  if (f->domain != Intrinsic::Domain::kInteger) {
    Source args;
    for (const Expr& a : n.args) args += (args.empty() ? Literal("") : ", ") + text(a);
    const bool rounded = scope_.has_half_functions && n.dtype.bits <= 32 && has_half_form(n.name);
    return {source("tk::{}{}({})", c_name(f->name), rounded ? Literal("_half") : "", args)};
  }
  const auto infix_of = [&](Literal op, int level) {
    return arithmetic({op, level, kPrefix, kPrefix}, n.dtype, n.args[0], n.args[1]);
  };
  if (n.name == "bitwise_not") {
    if (n.dtype.is_bool()) return {"!" + text(n.args[0], kPrefix), kPrefix};
    return narrowed(n.dtype, {"~" + text(n.args[0], kPrefix), kPrefix});
  }
  if (n.name == "shift_left" || n.name == "shift_right") {
    const bool left = n.name == "shift_left";
    const std::int64_t* count = as_int(n.args[1]);
    if (count != nullptr && *count >= 0 && *count < n.dtype.bits) {
      return infix_of(left ? Literal("<<") : ">>", kShift);
    }
    return function(left ? Literal("shift_left") : "shift_right", n.dtype, n.args[0], n.args[1]);
  }
  if (n.name == "int_pow") return function("int_pow", n.dtype, n.args[0], n.args[1]);
  return infix_of(n.name == "bitwise_and"  ? Literal("&")
                  : n.name == "bitwise_or" ? Literal("|")
                                           : "^",
                  kBits);
}

Text ExprWriter::write(const Expr& e) {
  return visit(
      e, [&](const IntImm& n) { return int_literal(n.value, n.dtype); },
      [&](const FloatImm& n) {
        return Text{float_literal(n.value, n.dtype), std::signbit(n.value) ? kPrefix : kPrimary};
      },
      [&](const Var&) { return Text{scope_.name(e)}; },
      [&](const Cast& n) { return conversion(n); },
      [&](const Add& n) {
        return arithmetic({"+", kSum, kSum, kProduct}, n.dtype, n.a, n.b);
      },
      [&](const Sub& n) {
        const auto* zero = n.a.as<FloatImm>();
        if (is_int(n.a, 0) || (zero != nullptr && zero->value == 0 && std::signbit(zero->value))) {
          return narrowed(n.dtype, {"-" + text(n.b, kPrimary), kPrefix});
        }
        return arithmetic({"-", kSum, kSum, kProduct}, n.dtype, n.a, n.b);
      },
      [&](const Mul& n) {
        return arithmetic({"*", kProduct, kProduct, kPrefix}, n.dtype, n.a, n.b);
      },
      [&](const Div& n) { return truncating_division(n); },
      [&](const FloorDiv& n) { return division(e, n.a, n.b); },
      [&](const FloorMod& n) { return division(e, n.a, n.b); },
      [&](const Min& n) { return function("min", n.dtype, n.a, n.b); },
      [&](const Max& n) { return function("max", n.dtype, n.a, n.b); },
      [&](const Eq& n) {
        return comparison({"==", kEquality, kRelation, kRelation}, e, n.a, n.b);
      },
      [&](const Ne& n) {
        return comparison({"!=", kEquality, kRelation, kRelation}, e, n.a, n.b);
      },
      [&](const Lt& n) {
        return comparison({"<", kRelation, kShift, kShift}, e, n.a, n.b);
      },
      [&](const Le& n) {
        return comparison({"<=", kRelation, kShift, kShift}, e, n.a, n.b);
      },
      // `a && b || c` reads badly, and compilers say so: operands of `||` are put in parentheses.
      [&](const And& n) { return both(n.a, n.b); },
      [&](const Or& n) {
        return junction({"||", kOrElse, kBits, kBits}, n.a, n.b);
      },
      [&](const Not& n) {
        return Text{"!" + text(n.value, kPrefix), kPrefix};
      },
      [&](const Select& n) { return choice(n); },
      [&](const Load& n) {
        const Source text = element(n.buffer, n.indices);
        const bool converts =
            is_half(n.buffer->dtype) && storage_type(n.buffer->dtype) == element_type(n.buffer);
        return Text{converts ? "float(" + text + ")" : text};
      },
      [&](const Call& n) { return call(n); },
      [&](Otherwise) -> Text { TESSERA_UNREACHABLE("`{}` has no place in a kernel", print(e)); });
}

}  // namespace

KernelScope::KernelScope() : names({reserved_words().begin(), reserved_words().end()}) {}

Literal value_type(DType dtype) {
  switch (dtype.code) {
    case TypeCode::kBool:
      return "bool";
    case TypeCode::kFloat:
    case TypeCode::kBFloat:
      return dtype.bits == 64 ? Literal("double") : "float";
    case TypeCode::kInt:
      return dtype.bits == 8    ? Literal("int8_t")
             : dtype.bits == 16 ? Literal("int16_t")
             : dtype.bits == 32 ? Literal("int32_t")
                                : "int64_t";
    case TypeCode::kUInt:
      return dtype.bits == 8    ? Literal("uint8_t")
             : dtype.bits == 16 ? Literal("uint16_t")
             : dtype.bits == 32 ? Literal("uint32_t")
                                : "uint64_t";
    case TypeCode::kHandle:
      break;
  }
  TESSERA_UNREACHABLE("no C++ type for {}", to_string(dtype));
}

Literal storage_type(DType dtype) {
  if (dtype == kFloat16) return "tk::float16";
  return dtype == kBFloat16 ? Literal("tk::bfloat16") : value_type(dtype);
}

Literal element_type(const Buffer& buffer) {
  const bool computed =
      buffer->scope == MemoryScope::kStack || buffer->scope == MemoryScope::kShared;
  return computed ? value_type(buffer->dtype) : storage_type(buffer->dtype);
}

Source expr_text(const Expr& e, KernelScope& scope) { return ExprWriter(scope).text(e); }

Source guard_text(const Expr& condition, KernelScope& scope) {
  return ExprWriter(scope).guard(condition);
}

Source element_text(const Buffer& b, const std::vector<Expr>& indices, KernelScope& scope) {
  return ExprWriter(scope).element(b, indices);
}

Source stored_text(const Buffer& b, const Expr& value, KernelScope& scope) {
  if (element_type(b) == value_type(b->dtype)) return expr_text(value, scope);
  // Storing rounds: a conversion to the same type need not do so before.
  const auto* conversion = value.as<Cast>();
  const bool rounds = conversion != nullptr && conversion->dtype == b->dtype;
  return source("{}({})", storage_type(b->dtype),
                expr_text(rounds ? conversion->value : value, scope));
}

}  // namespace tessera::emit
