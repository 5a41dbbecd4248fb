// SPDX-License-Identifier: Apache-2.0
// Dimensions: an integer, `?` (unknown), or a canonical symbolic expression (docs/graph-ir.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct DimExpr;  // canonical sum of products of atoms, types/dim.cc

// A size. Equal canonical forms are equal: `seq*2` and `seq+seq` are the same Dim. `?` compares
// equal only as text (operator==); use `provably_equal` where two runs-time sizes must agree.
class Dim {
 public:
  Dim() = default;                            // 0
  Dim(std::int64_t value) : value_(value) {}  // NOLINT: a number is a dimension
  static Dim unknown();
  static Dim symbol(std::string name);

  bool is_constant() const { return kind_ == Kind::kConstant; }
  bool is_unknown() const { return kind_ == Kind::kUnknown; }
  bool is_symbolic() const { return kind_ == Kind::kExpr; }
  std::int64_t constant() const { return value_; }  // needs is_constant()
  std::optional<std::int64_t> as_constant() const;

  // Structural: `?` equals `?`.
  friend bool operator==(const Dim& a, const Dim& b);
  std::uint64_t hash() const;
  // The names of the symbols inside, sorted, once each.
  std::vector<std::string> symbols() const;
  // Replaces symbols by sizes; a symbol without an entry stays.
  Dim substitute(const std::map<std::string, Dim>& values) const;
  // Text without the leading `?`: "128", "?", "seq", "(2*seq+1)". `to_string` adds it.
  std::string expression_text() const;
  const DimExpr* expr() const { return expr_.get(); }

 private:
  friend struct DimAlgebra;
  enum class Kind : std::uint8_t { kConstant, kUnknown, kExpr };
  Kind kind_ = Kind::kConstant;
  std::int64_t value_ = 0;
  std::shared_ptr<const DimExpr> expr_;
};

// Anything with `?` is `?` (0 * ? is 0). Overflow of constants gives `?`; the verifier reports it.
Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
Dim floor_div(const Dim& a, const Dim& b);
Dim floor_mod(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
Dim min(const Dim& a, const Dim& b);
Dim max(const Dim& a, const Dim& b);

enum class Tri : std::uint8_t { kNo, kYes, kMaybe };
// Are the sizes the same in every run? Symbols are taken to be >= 0.
Tri provably_equal(const Dim& a, const Dim& b);

using Shape = std::vector<Dim>;
Dim num_elements(const Shape& shape);
// Is no size `?`?
bool has_names(const Shape& shape);
// Is it proven that the shapes are the same in every run?
bool are_same(const Shape& a, const Shape& b);
// The sizes when all are known.
std::optional<std::vector<std::int64_t>> constant_shape(const Shape& shape);

std::string to_string(const Dim& dim);      // "128", "?", "?seq", "?(2*seq+1)"
std::string to_string(const Shape& shape);  // "(2, 3)", "(4)", "()"
// Reads the part after `?`: a name or a parenthesised expression. Nothing if it is neither.
std::optional<Dim> parse_dim_expression(std::string_view text);
// May a symbol have this name: a letter or `_`, then letters, digits and `_`. Dim::symbol needs it.
bool is_symbol_name(std::string_view text);

// A named size with its range; `likely` is the one to optimise for.
struct Symbol {
  std::string name;
  std::int64_t min = 1, max = -1;  // max -1: no bound
  std::int64_t step = 1;
  std::optional<std::int64_t> likely;
  bool operator==(const Symbol&) const = default;
};
using SymbolTable = std::map<std::string, Symbol>;

}  // namespace tessera
