// SPDX-License-Identifier: Apache-2.0
// Orders of steps that keep few bytes alive at once.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::plan {

// Memory that steps touch. It is alive from the first of them to the last.
struct StepMemory {
  std::int64_t bytes = 0;
  std::uint32_t steps = 0;             // so many touch it
  bool before = false, after = false;  // alive before all steps, after all steps
};

struct Step {
  std::vector<std::uint32_t> memory;         // what it touches, each once
  std::vector<std::uint32_t> before, after;  // steps that must come before it, and after it
  std::int64_t scratch_bytes = 0;            // only while it runs
};

struct StepGraph {
  std::vector<StepMemory> memory;
  std::vector<Step> steps;  // as they stand in the program, which is a legal order
};

using StepOrder = std::vector<std::uint32_t>;

// The most bytes that are alive at once.
std::int64_t peak_of(const StepGraph& graph, const StepOrder& order);
// A legal order whose peak is at most that of the program's order: a few partial orders at a time
// are extended, from the begin and from the end, by what leaves the fewest bytes alive.
StepOrder least_alive_order(const StepGraph& graph);

}  // namespace tessera::plan
