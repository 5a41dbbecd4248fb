// SPDX-License-Identifier: Apache-2.0
// Many graphs as one model: partitioned one by one, compiled, linked and loaded together, run once,
// and each result compared with the operators' reference evaluation.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/partition.h"
#include "tests/fuzz/random_graph.h"

namespace tessera::fuzz {

struct Case {
  std::uint64_t seed = 0;  // of the graph and of its partition
  Graph graph;
};
Case random_case(std::uint64_t seed);

struct BatchOutcome {
  // Why a case fails, by case; nothing where it passes. What concerns all (the library cannot be
  // made) is said of each.
  std::vector<std::optional<std::string>> failures;
  std::map<std::string, std::uint64_t> operators;  // by back end, `native` among them
};
// `list_seed` decides the back ends for what partitions leave, and their order.
BatchOutcome run_batch(const std::vector<Case>& cases, std::uint64_t list_seed);

// The same in a process of its own; where the whole fails or crashes, halves of it, until the cases
// are found that do.
BatchOutcome run_apart(const std::vector<Case>& cases, std::uint64_t list_seed);

}  // namespace tessera::fuzz
