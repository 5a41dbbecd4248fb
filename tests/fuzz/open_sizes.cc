// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/open_sizes.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::fuzz {
namespace {

std::vector<std::int64_t> sizes_of_symbol(Random& random) {
  constexpr std::int64_t kUsual[] = {2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 12, 16, 17};
  const std::int64_t first = random.among(kUsual);
  const std::int64_t second = random.among(kUsual);
  const std::int64_t last = random.below(3) == 0 ? random.among(kUsual) : random.below(2);
  return {first, second, last};
}

// Right for the sizes that it is run with.
Symbol range(const std::string& name, std::int64_t least, std::int64_t most, Random& random) {
  Symbol symbol{name, std::min<std::int64_t>(least, 1), -1, 1, std::nullopt};
  if (random.below(2) == 0) symbol.min = 0;
  if (random.below(2) == 0) symbol.max = most + random.below(20);
  if (random.below(3) == 0) symbol.likely = most;
  return symbol;
}

}  // namespace

OpenSizes::OpenSizes(std::uint64_t seed, Random& random) : runs_(kSizeSets) {
  const int count = 1 + random.below(3);
  std::vector<std::int64_t> sizes;
  for (int i = 0; i < count; ++i) {
    const std::string name = fmt::format("{}_{:06x}", "nmk"[i], seed & 0xffffffu);
    // Two names for what is the same in every run: where sizes must agree, these do.
    if (i == 0 || random.below(3) != 0) sizes = sizes_of_symbol(random);
    if (i == 0) sizes.back() = random.below(2);
    for (std::size_t r = 0; r < runs_.size(); ++r) runs_[r][name] = sizes[r];
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    symbols_.push_back(name);
    const Symbol symbol = range(name, *least, *most, random);
    if (*least == 0 || random.below(2) == 0) ranges_.emplace(name, symbol);
  }
}

Dim OpenSizes::any(Random& random) const {
  const Dim a = Dim::symbol(random.among(symbols_));
  const Dim b = Dim::symbol(random.among(symbols_));
  switch (random.below(16)) {
    case 0:
    case 1:
      return a + b;
    case 2:
      return Dim(2) * a;
    case 3:
      return a * b;
    case 4:
      return a + Dim(1 + random.below(3));
    case 5:
      return ceil_div(a, Dim(2));
    default:
      return a;
  }
}

SymbolTable OpenSizes::ranges_of(const relay::Function& f) const {
  SymbolTable used;
  for (const relay::NodeId param : f.params()) {
    for (const Type& t : flatten(f.type(param))) {
      for (const Dim& dim : t.shape()) {
        for (const std::string& name : dim.symbols()) {
          if (const auto it = ranges_.find(name); it != ranges_.end()) used.insert(*it);
        }
      }
    }
  }
  return used;
}

}  // namespace tessera::fuzz
