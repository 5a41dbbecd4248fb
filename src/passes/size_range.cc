// SPDX-License-Identifier: Apache-2.0
#include "passes/size_range.h"

#include <string>
#include <vector>

namespace tessera::passes {

SizeRange range_of(const Dim& size, const SymbolTable& symbols) {
  if (const auto n = size.as_constant()) return {*n, *n};
  const std::vector<std::string> names = size.symbols();
  if (names.size() != 1 || size != Dim::symbol(names[0])) return {};
  const auto symbol = symbols.find(names[0]);
  return symbol == symbols.end() ? SizeRange{} : SizeRange{symbol->second.min, symbol->second.max};
}

}  // namespace tessera::passes
