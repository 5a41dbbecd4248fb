// SPDX-License-Identifier: Apache-2.0
// What tests of planning share.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plan/problem.h"

namespace tessera::plan::testing {

// A need without alignment, so that the sizes of the specification's examples count alone.
inline Need need(std::string name, std::int64_t bytes, std::vector<TickRange> live) {
  return {std::move(name), bytes, 1, std::move(live)};
}

inline std::vector<std::int64_t> offsets(const std::vector<Placement>& placements) {
  std::vector<std::int64_t> out;
  for (const Placement& p : placements) out.push_back(p.offset);
  return out;
}

// What every plan must be: aligned, within its pools, and nothing in the way of anything else.
inline void expect_sound(const std::vector<Need>& needs, const std::vector<Placement>& at,
                         std::vector<Pool> pools) {
  ASSERT_EQ(needs.size(), at.size());
  set_used_bytes(needs, at, pools);
  for (const Pool& pool : pools) {
    EXPECT_TRUE(pool.limit_bytes < 0 || pool.bytes <= pool.limit_bytes) << pool.name;
  }
  for (std::size_t i = 0; i < needs.size(); ++i) {
    EXPECT_EQ(at[i].offset % needs[i].align_bytes, 0) << needs[i].name;
    for (std::size_t j = 0; j < i; ++j) {
      if (at[i].pool != at[j].pool || !live_together(needs[i], needs[j])) continue;
      EXPECT_TRUE(at[i].offset + needs[i].bytes <= at[j].offset ||
                  at[j].offset + needs[j].bytes <= at[i].offset)
          << needs[i].name << " and " << needs[j].name;
    }
  }
}

}  // namespace tessera::plan::testing
