// SPDX-License-Identifier: Apache-2.0
#include "import/dim_names.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tir/names.h"

namespace tessera::import {
namespace {

// What an exporter computed, if all its operands are known by themselves.
std::optional<Dim> expression(const std::string& text, const std::set<std::string>& symbols) {
  const auto dim = parse_dim_expression("(" + text + ")");
  if (!dim || !dim->is_symbolic()) return std::nullopt;
  const std::vector<std::string> operands = dim->symbols();
  const bool known = std::all_of(operands.begin(), operands.end(),
                                 [&](const std::string& name) { return symbols.count(name) != 0; });
  return known ? dim : std::nullopt;
}

}  // namespace

DimNames::DimNames(const onnx::GraphProto& graph) {
  std::vector<std::string> others;
  for (const auto& input : graph.input()) {
    for (const auto& dim : input.type().tensor_type().shape().dim()) {
      const std::string& name = dim.dim_param();
      if (dim.has_dim_value() || name.empty() || contains(name)) continue;
      if (is_symbol_name(name)) {
        sizes_.emplace(name, Dim::symbol(name));
        symbols_.insert(name);
      } else {
        others.push_back(name);
      }
    }
  }
  const std::set<std::string> plain = symbols_;
  for (const std::string& name : others) {
    if (contains(name)) continue;
    if (const auto size = expression(name, plain)) {
      sizes_.emplace(name, *size);
      continue;
    }
    const std::string symbol = fresh_symbol(name);
    sizes_.emplace(name, Dim::symbol(symbol));
    renamed_.emplace(symbol, name);
  }
}

std::string DimNames::fresh_symbol(const std::string& hint) {
  const std::string base = tir::identifier(hint);
  std::string symbol = base;
  for (int n = 1; !symbols_.insert(symbol).second; ++n) symbol = fmt::format("{}_{}", base, n);
  return symbol;
}

}  // namespace tessera::import
