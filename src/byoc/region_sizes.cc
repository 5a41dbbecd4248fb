// SPDX-License-Identifier: Apache-2.0
#include "byoc/region_sizes.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "types/dim_expr.h"

namespace tessera::byoc {
namespace {

void add_symbols(const Type& type, std::set<std::string>& names) {
  if (!type || type.is_function() || !is_dynamic(type)) return;
  for (const Type& tensor : flatten(type)) {
    for (const Dim& d : tensor.shape()) {
      for (std::string& name : d.symbols()) names.insert(std::move(name));
    }
  }
}

bool is_symbol(const Dim& d) { return DimAlgebra::as_atom(d, DimOp::kSymbol) != nullptr; }

// How often the symbol stands in the size, inside of quotients and minima, too.
std::size_t count_of(const std::string& symbol, const Dim& size) {
  std::size_t count = 0;
  for (const DimTerm& term : DimAlgebra::terms_of(size)) {
    for (const DimAtomRef& atom : term.factors) {
      if (atom->op == DimOp::kSymbol) {
        count += atom->name == symbol ? 1 : 0;
      } else {
        count += count_of(symbol, atom->a) + count_of(symbol, atom->b);
      }
    }
  }
  return count;
}

}  // namespace

RegionSizes::RegionSizes(const std::vector<Type>& tensors, std::set<std::string> taken)
    : taken_(std::move(taken)) {
  std::vector<Dim> sizes;
  for (const Type& type : tensors) {
    add_symbols(type, taken_);
    for (const Dim& d : type.shape()) {
      if (d.is_symbolic() && std::find(sizes.begin(), sizes.end(), d) == sizes.end()) {
        sizes.push_back(d);
      }
    }
  }
  std::stable_partition(sizes.begin(), sizes.end(), is_symbol);
  for (const Dim& size : sizes) read(size);
}

RegionSizes RegionSizes::of(const relay::Function& region) {
  std::vector<Type> tensors;
  const auto add = [&](relay::NodeId id) {
    for (Type& t : flatten(region.type(id))) tensors.push_back(std::move(t));
  };
  for (const relay::NodeId param : region.params()) add(param);
  add(region.result());
  std::set<std::string> names;
  for (std::size_t i = 0; i < region.num_nodes(); ++i) {
    add_symbols(region.type(relay::NodeId(i)), names);
  }
  return {tensors, std::move(names)};
}

void RegionSizes::read(const Dim& size) {
  if (is_symbol(size)) {
    known_.insert(size.expression_text());
    reads_.push_back({size, size.expression_text()});
    return;
  }
  const Dim rest = size.substitute(solved_);
  if (is_known(rest)) return;
  std::string name = fmt::format("read_{}", reads_.size());
  while (!taken_.insert(name).second) name += "_";
  known_.insert(name);
  solve(rest, Dim::symbol(name));
  reads_.push_back({size, std::move(name)});
}

// One of the symbols as what the others leave of the value.
bool RegionSizes::solve(const Dim& size, const Dim& value) {
  for (const DimTerm& term : DimAlgebra::terms_of(size)) {
    if (term.factors.size() != 1 || term.factors[0]->op != DimOp::kSymbol) continue;
    const std::string& symbol = term.factors[0]->name;
    if (known_.count(symbol) != 0 || count_of(symbol, size) != 1) continue;
    if (term.coefficient == std::numeric_limits<std::int64_t>::min()) continue;
    const Dim others = size - Dim(term.coefficient) * Dim::symbol(symbol);
    Dim solution = term.coefficient < 0 ? others - value : value - others;
    const std::int64_t divisor = std::abs(term.coefficient);
    // The value is a multiple then, once all others have theirs.
    if (divisor != 1 && !is_known(others)) continue;
    if (divisor != 1) solution = floor_div(solution, divisor);
    if (solution.is_unknown()) continue;
    for (auto& [name, earlier] : solved_) earlier = earlier.substitute({{symbol, solution}});
    solved_[symbol] = solution;
    return true;
  }
  return false;
}

bool RegionSizes::is_known(const Dim& size) const {
  if (size.is_unknown()) return false;
  const std::vector<std::string> names = size.symbols();
  return std::all_of(names.begin(), names.end(),
                     [&](const std::string& name) { return known_.count(name) != 0; });
}

// What no symbol could be solved for is known as a whole, and so are its multiples.
std::optional<Dim> RegionSizes::as_multiple(const Dim& size) const {
  for (const Read& read : reads_) {
    const auto factor = DimAlgebra::divide_exactly(size, read.size);
    if (!factor) continue;
    if (const auto known = derived(*factor)) return *known * Dim::symbol(read.name);
  }
  return std::nullopt;
}

std::optional<Dim> RegionSizes::derived(const Dim& size) const {
  if (size.is_constant()) return size;
  if (size.is_unknown()) return std::nullopt;
  for (const Read& read : reads_) {
    if (read.size == size) return Dim::symbol(read.name);
  }
  const Dim solved = size.substitute(solved_);
  if (is_known(solved)) return solved;
  if (const auto multiple = as_multiple(size)) return multiple;
  const std::vector<DimTerm> terms = DimAlgebra::terms_of(size);
  if (terms.size() == 1) return std::nullopt;
  Dim sum = 0;
  for (const DimTerm& term : terms) {
    const auto part = derived(DimAlgebra::from_terms({term}));
    if (!part) return std::nullopt;
    sum = sum + *part;
  }
  return is_known(sum) ? std::optional(sum) : std::nullopt;
}

std::optional<Type> RegionSizes::derived(const Type& type) const {
  Shape shape;
  for (const Dim& size : type.shape()) {
    const auto known = derived(size);
    if (!known) return std::nullopt;
    shape.push_back(*known);
  }
  return tensor_type(std::move(shape), type.dtype());
}

}  // namespace tessera::byoc
