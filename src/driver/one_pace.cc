// SPDX-License-Identifier: Apache-2.0
#include "driver/one_pace.h"

#include <algorithm>

namespace tessera::driver {

std::vector<PartOfList> at_one_pace(std::span<const std::size_t> sizes, std::size_t most) {
  std::vector<PartOfList> parts;
  for (std::size_t list = 0; list < sizes.size(); ++list) {
    for (std::size_t begin = 0; begin < sizes[list]; begin += most) {
      parts.push_back({list, begin, std::min(sizes[list], begin + most)});
    }
  }
  const auto middle = [&](const PartOfList& part) {
    return static_cast<double>(part.begin + part.end) / static_cast<double>(sizes[part.list]);
  };
  std::stable_sort(parts.begin(), parts.end(),
                   [&](const PartOfList& a, const PartOfList& b) { return middle(a) < middle(b); });
  return parts;
}

}  // namespace tessera::driver
