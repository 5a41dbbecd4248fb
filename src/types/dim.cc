// SPDX-License-Identifier: Apache-2.0
#include "types/dim.h"

#include <algorithm>
#include <set>

#include "support/check.h"
#include "support/hash.h"
#include "types/dim_expr.h"

namespace tessera {

Dim Dim::unknown() {
  Dim dim;
  dim.kind_ = Kind::kUnknown;
  return dim;
}

Dim Dim::symbol(std::string name) {
  TESSERA_CHECK(is_symbol_name(name), "`{}` cannot name a dimension", name);
  return DimAlgebra::from_symbol(std::move(name));
}

std::optional<std::int64_t> Dim::as_constant() const {
  return is_constant() ? std::optional(value_) : std::nullopt;
}

bool operator==(const Dim& a, const Dim& b) {
  if (a.kind_ != b.kind_ || a.value_ != b.value_) return false;
  if (a.expr_ == b.expr_) return true;
  return a.expr_->hash == b.expr_->hash && DimAlgebra::compare(a, b) == 0;
}

std::uint64_t Dim::hash() const {
  if (is_symbolic()) return expr_->hash;
  return hash_combine(static_cast<std::uint64_t>(kind_), static_cast<std::uint64_t>(value_));
}

namespace {

void collect_symbols(const Dim& dim, std::set<std::string>& names) {
  if (!dim.is_symbolic()) return;
  for (const auto& term : dim.expr()->terms) {
    for (const auto& atom : term.factors) {
      if (atom->op == DimOp::kSymbol) names.insert(atom->name);
      collect_symbols(atom->a, names);
      collect_symbols(atom->b, names);
    }
  }
}

Dim apply(DimOp op, const Dim& a, const Dim& b) {
  switch (op) {
    case DimOp::kFloorDiv:
      return floor_div(a, b);
    case DimOp::kFloorMod:
      return floor_mod(a, b);
    case DimOp::kMin:
      return min(a, b);
    case DimOp::kMax:
      return max(a, b);
    case DimOp::kSymbol:
      break;
  }
  TESSERA_UNREACHABLE("a symbol has no operands");
}

}  // namespace

std::vector<std::string> Dim::symbols() const {
  std::set<std::string> names;
  collect_symbols(*this, names);
  return {names.begin(), names.end()};
}

Dim Dim::substitute(const std::map<std::string, Dim>& values) const {
  if (!is_symbolic()) return *this;
  Dim sum = 0;
  for (const auto& term : expr_->terms) {
    Dim product = term.coefficient;
    for (const auto& atom : term.factors) {
      if (atom->op == DimOp::kSymbol) {
        const auto it = values.find(atom->name);
        product = product * (it != values.end() ? it->second : symbol(atom->name));
      } else {
        product = product * apply(atom->op, atom->a.substitute(values), atom->b.substitute(values));
      }
    }
    sum = sum + product;
  }
  return sum;
}

Dim num_elements(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), Dim(0)) != shape.end()) return 0;
  Dim product = 1;
  for (const auto& dim : shape) product = product * dim;
  return product;
}

bool has_names(const Shape& shape) {
  return std::none_of(shape.begin(), shape.end(), [](const Dim& d) { return d.is_unknown(); });
}

bool are_same(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Dim& x, const Dim& y) { return provably_equal(x, y) == Tri::kYes; });
}

std::optional<std::vector<std::int64_t>> constant_shape(const Shape& shape) {
  std::vector<std::int64_t> sizes;
  for (const auto& dim : shape) {
    if (!dim.is_constant()) return std::nullopt;
    sizes.push_back(dim.constant());
  }
  return sizes;
}

}  // namespace tessera
