// SPDX-License-Identifier: Apache-2.0
// What a back end declined when it was to compile it, so that it is not given the same again: who
// places is asked once more, and may give it other parts of that, or the whole to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::byoc {

class DeclinedRegions {
 public:
  // The pool is that of the region's constants. Of equal ones the first is kept.
  void add(relay::Function region, const ConstantPool& pool, std::string why);
  // Why it declined one that is structurally equal, whatever its `global_symbol`.
  std::optional<relay::Refusal> find(const relay::Function& region, const ConstantPool& pool) const;
  bool empty() const { return by_hash_.empty(); }

 private:
  struct Known {
    relay::Function region;
    ConstantPool pool;
    std::string why;
  };
  std::unordered_map<std::uint64_t, std::vector<Known>> by_hash_;  // never iterated
};

}  // namespace tessera::byoc
