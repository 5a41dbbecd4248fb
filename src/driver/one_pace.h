// SPDX-License-Identifier: Apache-2.0
// Several lists of work, gone through at one pace.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tessera::driver {

// Places `begin` to `end` of a list.
struct PartOfList {
  std::size_t list, begin, end;
  bool operator==(const PartOfList&) const = default;
};

// All of lists of these sizes in parts of at most `most` (above 0), in the order of how much of its
// list lies before a part's middle; of equals the earlier list comes first. Whenever it is left,
// about the same share of each list is done.
std::vector<PartOfList> at_one_pace(std::span<const std::size_t> sizes, std::size_t most);

}  // namespace tessera::driver
