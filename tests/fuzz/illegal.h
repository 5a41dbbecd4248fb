// SPDX-License-Identifier: Apache-2.0
// Partitions that must be refused, with a place and a reason.
#pragma once

#include <optional>
#include <string>

#include "tests/fuzz/random_graph.h"

namespace tessera::fuzz {

struct IllegalOutcome {
  std::string kind;                    // what is wrong with the partition; "" if nothing could be
  std::optional<std::string> problem;  // nothing: it was refused as it should be
  std::string text;                    // of the module, as given
};
// Spoils a partition of the graph in a way that the seed decides, and gives it to the passes and to
// the placement as text.
IllegalOutcome try_illegal(const Graph& graph, std::uint64_t seed);

}  // namespace tessera::fuzz
