// SPDX-License-Identifier: Apache-2.0
// The rules of simplification, and how one is matched.
#include <array>
#include <bit>
#include <cmath>

#include "tir/compare.h"
#include "tir/simplify.h"
#include "tir/walk.h"

namespace tessera::tir {
namespace {

using enum Rule::For;

// The variables of the patterns. They are int64 and bool so that the operators build patterns; a
// pattern fits operands of every type that its rule is for.
struct Wildcards {
  Expr x = make_var("x"), y = make_var("y"), z = make_var("z");
  Expr c = make_var("c"), d = make_var("d");
  Expr p = make_var("p", kBool), q = make_var("q", kBool);
};

// What `-x` is for floats: -0.0 - x.
Expr negative(const Expr& x) { return Sub::make(kInt64, float_imm(-0.0), x); }

bool is_power_of_two(double c, double) {
  int exponent = 0;
  const double mantissa = std::frexp(c, &exponent);
  return std::abs(mantissa) == 0.5 && std::abs(exponent) < 14;  // exact in float16 as well
}

void add_arithmetic(std::vector<Rule>& t, const Wildcards& w) {
  const auto& [x, y, z, c, d, p, q] = w;
  t.insert(t.end(), {
                        {"add-zero", kInts, x + 0, x},
                        {"zero-add", kInts, 0 + x, x},
                        {"add-constants", kInts, (x + c) + d, x + (c + d)},
                        {"add-sub-constants", kInts, (x - c) + d, x + (d - c)},
                        {"constant-last", kInts, c + x, x + c},
                        {"add-negative", kFloats, x + negative(y), x - y},
                        {"sub-zero", kAll, x - 0, x},
                        {"sub-same", kInts, x - x, 0},
                        {"sub-constants", kInts, (x + c) - d, x + (c - d)},
                        {"negative-twice", kFloats, negative(negative(x)), x},
                        {"sub-negative", kFloats, x - negative(y), x + y},
                        {"mul-one", kAll, x * 1, x},
                        {"one-mul", kAll, 1 * x, x},
                        {"mul-zero", kInts, x * 0, 0},
                        {"zero-mul", kInts, 0 * x, 0},
                        {"mul-constants", kInts, (x * c) * d, x * (c * d)},
                        {"factor-last", kInts, c * x, x * c},
                        {"div-one", kAll, x / 1, x},
                        {"div-power-of-two", kFloats, x / c, x * (1 / c), is_power_of_two},
                        {"floor-div-one", kInts, floor_div(x, 1), x},
                        {"floor-mod-one", kInts, floor_mod(x, 1), 0},
                        {"floor-div-twice", kInts, floor_div(floor_div(x, c), d),
                         floor_div(x, c * d), [](double a, double b) { return a > 0 && b > 0; }},
                        {"floor-mod-twice", kInts, floor_mod(floor_mod(x, c), c), floor_mod(x, c)},
                        {"floor-div-of-product", kSizes, floor_div(x * y, y), x},
                        {"floor-mod-of-product", kSizes, floor_mod(x * y, y), 0},
                        {"floor-div-of-sum", kSizes, floor_div(x * y + z, y), x + floor_div(z, y)},
                        {"floor-mod-of-sum", kSizes, floor_mod(x * y + z, y), floor_mod(z, y)},
                        {"square", kFloats, call("pow", {x, 2}), x * x},
                        {"cube", kFloats, call("pow", {x, 3}), x * x * x},
                        {"power-one", kFloats, call("pow", {x, 1}), x},
                    });
}

void add_extremes(std::vector<Rule>& t, const Wildcards& w) {
  const auto& [x, y, z, c, d, p, q] = w;
  t.insert(t.end(), {
                        {"min-same", kAll, min(x, x), x},
                        {"max-same", kAll, max(x, x), x},
                        {"min-constants", kAll, min(min(x, c), d), min(x, min(c, d))},
                        {"max-constants", kAll, max(max(x, c), d), max(x, max(c, d))},
                        {"min-constant-last", kInts, min(c, x), min(x, c)},
                        {"max-constant-last", kInts, max(c, x), max(x, c)},
                        {"min-of-max", kInts, min(max(x, y), x), x},
                        {"max-of-min", kInts, max(min(x, y), x), x},
                        {"select-same", kAll, select(p, x, x), x},
                        {"select-not", kAll, select(logical_not(p), x, y), select(p, y, x)},
                        {"select-twice", kAll, select(p, select(p, x, y), z), select(p, x, z)},
                    });
}

void add_conditions(std::vector<Rule>& t, const Wildcards& w) {
  const auto& [x, y, z, c, d, p, q] = w;
  const Expr yes = bool_imm(true), no = bool_imm(false);
  t.insert(t.end(), {
                        {"eq-same", kInts, eq(x, x), yes},
                        {"ne-same", kInts, ne(x, x), no},
                        {"lt-same", kAll, lt(x, x), no},
                        {"le-same", kInts, le(x, x), yes},
                        {"not-not", kAll, logical_not(logical_not(p)), p},
                        {"not-lt", kInts, logical_not(lt(x, y)), le(y, x)},
                        {"not-le", kInts, logical_not(le(x, y)), lt(y, x)},
                        {"not-eq", kAll, logical_not(eq(x, y)), ne(x, y)},
                        {"not-ne", kAll, logical_not(ne(x, y)), eq(x, y)},
                        {"and-true", kAll, logical_and(p, yes), p},
                        {"true-and", kAll, logical_and(yes, p), p},
                        {"and-false", kAll, logical_and(p, no), no},
                        {"false-and", kAll, logical_and(no, p), no},
                        {"and-same", kAll, logical_and(p, p), p},
                        {"or-false", kAll, logical_or(p, no), p},
                        {"false-or", kAll, logical_or(no, p), p},
                        {"or-true", kAll, logical_or(p, yes), yes},
                        {"true-or", kAll, logical_or(yes, p), yes},
                        {"or-same", kAll, logical_or(p, p), p},
                    });
}

const Wildcards& wildcards() {
  static const Wildcards w;
  return w;
}

std::optional<double> literal_value(const Expr& e) {
  if (const auto* v = as_int(e)) return static_cast<double>(*v);
  if (const auto* v = e.as<FloatImm>()) return v->value;
  return std::nullopt;
}

class Match {
 public:
  bool fits(const Expr& pattern, const Expr& e) {
    if (const auto* var = pattern.as<Var>()) return binds(pattern, *var, e);
    if (const auto wanted = literal_value(pattern)) {
      const auto value = literal_value(e);  // 0 does not stand for -0.0, nor the other way round
      return value && *value == *wanted && std::signbit(*value) == std::signbit(*wanted);
    }
    if (pattern.kind() != e.kind() || e.dtype().lanes != 1) return false;
    return visit(pattern, [&]<class N>(const N& n) {
      const N& other = *e.as<N>();
      return std::apply([&](auto... m) { return (fits_field(n.*m, other.*m) && ...); }, N::fields);
    });
  }
  // The pattern with what its variables stand for; literals take `dtype`.
  Expr build(const Expr& pattern, DType dtype) const {
    if (pattern.as<Var>() != nullptr) return bound_.at(pattern.get());
    if (const auto value = literal_value(pattern)) {
      return pattern.dtype().is_bool() ? pattern : imm(*value, dtype);
    }
    return visit(
        pattern, [&](const Not& n) { return logical_not(build(n.value, dtype)); },
        [&](const Select& n) {
          return select(build(n.condition, dtype), build(n.yes, dtype), build(n.no, dtype));
        },
        [&]<BinaryNode N>(const N& n) {
          return binary(KindOf<N>::value, build(n.a, dtype), build(n.b, dtype));
        },
        [&](Otherwise) -> Expr { TESSERA_UNREACHABLE("such a result of a rule"); });
  }
  double value_of(const Expr& literal) const {
    const auto it = bound_.find(literal.get());
    return it == bound_.end() ? 0 : *literal_value(it->second);
  }
  bool divides_by_size(const Bounds& bounds) const {
    const Expr& y = bound_.at(wildcards().y.get());
    if (y.dtype() != kInt64) return false;
    bool of_sizes = true;
    for_each_node(y, [&](const Expr& part) {
      if (part.as<Var>() != nullptr) of_sizes &= bounds.is_size(part);
      of_sizes &= part.as<Load>() == nullptr && part.as<Read>() == nullptr;
    });
    return of_sizes;
  }
  DType operand_type() const {
    for (const auto& [pattern, e] : bound_) {
      if (!pattern->dtype.is_bool()) return e.dtype();
    }
    return kBool;
  }

 private:
  template <class V>
  bool fits_field(const V& pattern, const V& value) {
    if constexpr (std::is_same_v<V, Expr>) {
      return fits(pattern, value);
    } else if constexpr (std::is_same_v<V, std::vector<Expr>>) {
      if (pattern.size() != value.size()) return false;
      for (std::size_t i = 0; i < value.size(); ++i) {
        if (!fits(pattern[i], value[i])) return false;
      }
      return true;
    } else if constexpr (std::is_same_v<V, std::string>) {
      return pattern == value;
    } else {
      return false;
    }
  }
  bool binds(const Expr& pattern, const Var& var, const Expr& e) {
    if (pattern.dtype().is_bool() && !e.dtype().is_bool()) return false;
    const bool literal = var.name == "c" || var.name == "d";
    if (literal && !literal_value(e)) return false;
    const auto [it, fresh] = bound_.try_emplace(pattern.get(), e);
    return fresh || equal(it->second, e);
  }

  VarMap bound_;
};

bool is_for(Rule::For types, DType dtype) {
  if (types == kInts || types == kSizes) return dtype.is_int();
  return types == kAll || dtype.is_float();
}

// Rules by the kind of their root.
const std::vector<const Rule*>& rules_for(ExprKind kind) {
  static const auto table = [] {
    std::array<std::vector<const Rule*>, 64> by_kind;
    for (const Rule& r : rules()) {
      by_kind[static_cast<std::size_t>(r.before.kind())].push_back(&r);
    }
    return by_kind;
  }();
  return table[static_cast<std::size_t>(kind)];
}

}  // namespace

const std::vector<Rule>& rules() {
  static const auto table = [] {
    std::vector<Rule> t;
    add_arithmetic(t, wildcards());
    add_extremes(t, wildcards());
    add_conditions(t, wildcards());
    return t;
  }();
  return table;
}

std::optional<Rewrite> apply_rule(const Expr& e, const Bounds& bounds) {
  if (e.dtype().lanes != 1) return std::nullopt;
  const Wildcards& w = wildcards();
  for (const Rule* rule : rules_for(e.kind())) {
    Match match;
    if (!match.fits(rule->before, e) || !is_for(rule->types, match.operand_type())) continue;
    if (rule->condition != nullptr && !rule->condition(match.value_of(w.c), match.value_of(w.d))) {
      continue;
    }
    if (rule->types == kSizes && !match.divides_by_size(bounds)) continue;
    Expr result = match.build(rule->after, match.operand_type());
    if (!equal(result, e)) return Rewrite{std::move(result), rule};
  }
  return std::nullopt;
}

}  // namespace tessera::tir
