// SPDX-License-Identifier: Apache-2.0
// Many graphs as one model for a CPU or a GPU: partitioned one by one, compiled, linked and loaded
// together, run with each set of sizes, and each result compared with the operators' reference
// evaluation.
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
  Shapes shapes = Shapes::kStatic;
  DeviceType device = DeviceType::kCpu;
  Graph graph;
};
Case random_case(std::uint64_t seed, Shapes shapes, DeviceType device = DeviceType::kCpu);

// Partitions are over back ends of the CPU. Of sizes that are open every second graph is left to
// the placement, which each back end then does alone, too; on a GPU all are.
Style style_of(const Case& c);

struct BatchOutcome {
  // Why a case fails, by case; nothing where it passes. What concerns all (the library cannot be
  // made) is said of each, and who of them is to blame is undecided.
  std::vector<std::optional<std::string>> failures;
  std::vector<bool> undecided;
  std::map<std::string, std::uint64_t> counts;  // of operators by back end, graphs by choice
};
// `list_seed` decides the back ends for what partitions leave, and their order.
BatchOutcome run_batch(const std::vector<Case>& cases, std::uint64_t list_seed);

// The same in a process of its own; where the whole fails or crashes, halves of it, until all is
// decided.
BatchOutcome run_apart(const std::vector<Case>& cases, std::uint64_t list_seed);

// Is what a case ends with no failure, but a diagnostic that says what there is no code for? It is
// counted by this text.
std::optional<std::string> refusal(const std::string& failure);

}  // namespace tessera::fuzz
