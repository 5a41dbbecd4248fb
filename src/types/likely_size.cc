// SPDX-License-Identifier: Apache-2.0
#include "types/likely_size.h"

#include <algorithm>

namespace tessera {

std::int64_t likely_size(const Symbol& s) {
  constexpr std::int64_t kUsual = 128;
  if (s.likely) return *s.likely;
  const std::int64_t below = s.max >= 0 ? std::min(s.max, kUsual) : kUsual;
  return s.min + std::max<std::int64_t>(below - s.min, 0) / s.step * s.step;
}

std::map<std::string, Dim> likely_sizes(const SymbolTable& symbols) {
  std::map<std::string, Dim> sizes;
  for (const auto& [name, symbol] : symbols) sizes.emplace(name, Dim(likely_size(symbol)));
  return sizes;
}

std::int64_t likely_value(const Dim& size, const std::map<std::string, Dim>& likely) {
  return size.substitute(likely).as_constant().value_or(likely_size(Symbol()));
}

}  // namespace tessera
