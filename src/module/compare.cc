// SPDX-License-Identifier: Apache-2.0
#include "tir/compare.h"

#include <fmt/format.h>

#include "module/module.h"
#include "relay/structural_equal.h"
#include "relay/text/parse_value.h"

namespace tessera {

namespace {

// The first name that only one of the maps has.
template <class T>
std::optional<ModuleDifference> compare_names(const std::map<std::string, T>& a,
                                              const std::map<std::string, T>& b,
                                              std::string_view sigil) {
  for (const auto& [name, value] : a) {
    if (!b.contains(name))
      return ModuleDifference{false, fmt::format("{}{}", sigil, name), "only in the first"};
  }
  for (const auto& [name, value] : b) {
    if (!a.contains(name))
      return ModuleDifference{false, fmt::format("{}{}", sigil, name), "only in the second"};
  }
  return std::nullopt;
}

}  // namespace

ModuleDifference compare(const Module& a, const Module& b, const CompareOptions& options) {
  if (auto d = compare_names(a.symbols, b.symbols, "symbol ")) return *d;
  for (const auto& [name, symbol] : a.symbols) {
    const Symbol& other = b.symbols.at(name);
    if (symbol == other) continue;
    return {false, "symbol " + name,
            fmt::format("{} against {}", relay::symbol_text(symbol), relay::symbol_text(other))};
  }
  if (auto d = compare_names(a.functions, b.functions, "@")) return *d;
  for (const auto& [name, f] : a.functions) {
    const auto d = relay::find_difference(f, b.functions.at(name), {&a.constants, &b.constants});
    if (d) return {false, fmt::format("@{}: {}", name, d->where), d->what};
  }
  if (!options.prim_funcs) return {};
  if (auto d = compare_names(a.prim_funcs, b.prim_funcs, "@")) return *d;
  for (const auto& [name, f] : a.prim_funcs) {
    if (!tir::equal(f, b.prim_funcs.at(name))) {
      return {false, "@" + name, "the loop functions differ"};
    }
  }
  return {};
}

}  // namespace tessera
