// SPDX-License-Identifier: Apache-2.0
#include "support/closest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tessera {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // from the first i bytes of a to the first j of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t before = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = before + (a[i - 1] == b[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string_view closest(std::string_view name, std::span<const std::string_view> candidates) {
  constexpr std::size_t kLongest = 64;  // nobody means a name by a text that is longer
  if (name.size() > kLongest) return "";
  std::string_view best;
  std::size_t least = std::max<std::size_t>(1, (name.size() + 1) / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t d = distance(name, candidate);
    if (d < least) {
      least = d;
      best = candidate;
    }
  }
  return best;
}

}  // namespace tessera
