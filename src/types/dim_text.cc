// SPDX-License-Identifier: Apache-2.0
// Dimensions as text. Grammar of what follows `?`:
//   expression = ["-"] term { ("+" | "-") term }
//   term       = factor { "*" factor }
//   factor     = number | name | "(" expression ")"
//              | ("floordiv" | "floormod" | "min" | "max") "(" expression "," expression ")"
#include <charconv>

#include <fmt/format.h>

#include "support/check.h"
#include "types/dim_expr.h"

namespace tessera {
namespace {

bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

struct DimFunction {
  std::string_view name;
  DimOp op;
  Dim (*apply)(const Dim&, const Dim&);
};
constexpr DimFunction kFunctions[] = {
    {"floordiv", DimOp::kFloorDiv, floor_div},
    {"floormod", DimOp::kFloorMod, floor_mod},
    {"min", DimOp::kMin, min},
    {"max", DimOp::kMax, max},
};

std::string sum_text(const Dim& dim);

std::string atom_text(const DimAtom& atom) {
  if (atom.op == DimOp::kSymbol) return atom.name;
  for (const auto& function : kFunctions) {
    if (function.op != atom.op) continue;
    return fmt::format("{}({}, {})", function.name, sum_text(atom.a), sum_text(atom.b));
  }
  TESSERA_UNREACHABLE();
}

// `2*seq+1`, without parentheses.
std::string sum_text(const Dim& dim) {
  std::string out;
  for (const auto& term : DimAlgebra::terms_of(dim)) {
    if (term.factors.empty()) {
      out += fmt::format("{}{}", out.empty() || term.coefficient < 0 ? "" : "+", term.coefficient);
      continue;
    }
    if (term.coefficient == -1) {
      out += "-";
    } else {
      if (!out.empty() && term.coefficient > 0) out += "+";
      if (term.coefficient != 1) out += fmt::format("{}*", term.coefficient);
    }
    for (std::size_t i = 0; i < term.factors.size(); ++i) {
      out += (i == 0 ? "" : "*") + atom_text(*term.factors[i]);
    }
  }
  return out.empty() ? "0" : out;
}

class DimParser {
 public:
  explicit DimParser(std::string_view text) : rest_(text) {}

  std::optional<Dim> parse() {
    auto dim = expression();
    skip_spaces();
    if (!dim || !rest_.empty() || dim->is_unknown()) return std::nullopt;
    return dim;
  }

 private:
  static constexpr int kMaxDepth = 100;

  void skip_spaces() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t'))
      rest_.remove_prefix(1);
  }
  bool take(char c) {
    skip_spaces();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }

  std::optional<Dim> expression() {
    if (++depth_ > kMaxDepth) return std::nullopt;
    const bool negative = take('-');
    auto sum = term();
    if (sum && negative) sum = Dim(0) - *sum;
    while (sum) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      const auto next = term();
      if (!next) return std::nullopt;
      sum = plus ? *sum + *next : *sum - *next;
    }
    --depth_;
    return sum;
  }

  std::optional<Dim> term() {
    auto product = factor();
    while (product && take('*')) {
      const auto next = factor();
      if (!next) return std::nullopt;
      product = *product * *next;
    }
    return product;
  }

  std::optional<Dim> factor() {
    skip_spaces();
    if (take('(')) {
      auto inner = expression();
      if (!inner || !take(')')) return std::nullopt;
      return inner;
    }
    if (rest_.empty()) return std::nullopt;
    if (is_digit(rest_.front())) return number();
    return is_name_start(rest_.front()) ? name_or_function() : std::nullopt;
  }

  std::optional<Dim> number() {
    std::int64_t value = 0;
    const auto [end, problem] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (problem != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }

  std::optional<Dim> name_or_function() {
    std::size_t size = 0;
    while (size < rest_.size() && (is_name_start(rest_[size]) || is_digit(rest_[size]))) ++size;
    const std::string_view name = rest_.substr(0, size);
    rest_.remove_prefix(size);
    if (!take('(')) return Dim::symbol(std::string(name));
    for (const auto& function : kFunctions) {
      if (function.name != name) continue;
      const auto a = expression();
      if (!a || !take(',')) return std::nullopt;
      const auto b = expression();
      if (!b || !take(')')) return std::nullopt;
      return function.apply(*a, *b);
    }
    return std::nullopt;
  }

  std::string_view rest_;
  int depth_ = 0;
};

}  // namespace

bool is_symbol_name(std::string_view text) {
  if (text.empty() || !is_name_start(text.front())) return false;
  for (const char c : text) {
    if (!is_name_start(c) && !is_digit(c)) return false;
  }
  return true;
}

std::string Dim::expression_text() const {
  if (is_unknown()) return "?";
  if (is_constant()) return fmt::format("{}", value_);
  if (const DimAtom* symbol = DimAlgebra::as_atom(*this, DimOp::kSymbol)) return symbol->name;
  return fmt::format("({})", sum_text(*this));
}

std::string to_string(const Dim& dim) {
  return dim.is_symbolic() ? "?" + dim.expression_text() : dim.expression_text();
}

std::string to_string(const Shape& shape) {
  std::string out = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) out += (i == 0 ? "" : ", ") + to_string(shape[i]);
  return out + ")";
}

std::optional<Dim> parse_dim_expression(std::string_view text) { return DimParser(text).parse(); }

}  // namespace tessera
