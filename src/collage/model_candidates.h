// SPDX-License-Identifier: Apache-2.0
// Candidates of a whole model: what `compile --partition collage` chooses from. Beside what the
// patterns of back ends match, and two neighbours of these where a back end merges them, there are
// the regions that greedy partitions have and the groups that `fuse-ops` makes, so that no greedy
// partition is out of reach.
#pragma once

#include <span>
#include <vector>

#include "byoc/composites.h"
#include "collage/candidate.h"
#include "collage/specs.h"

namespace tessera::collage {

constexpr std::string_view kNative = "native";

// One for each back end in its order, then `native`, then `host`. `of_rest` is part of native: the
// back end of operators that are no loops.
Specs model_specs(std::span<const byoc::BackendChoice> back_ends, const Target& machine,
                  const ConstantPool& pool);

struct ModelCandidates {
  std::vector<Candidate> list;
  // By candidate: that with whose cost it counts, itself where it is to be estimated. An operator
  // taken out of its group is taken to be as dear as the group, and is there so that all plans end.
  std::vector<std::size_t> costs_as;
  // Regions of several composites, and these, each a candidate of its own.
  struct Region {
    std::size_t whole = 0;
    std::vector<std::size_t> parts;
  };
  std::vector<Region> regions;
  // By greedy partition, that of each back end alone and then that of all: its regions.
  std::vector<std::vector<std::size_t>> greedy;
};

// `specs` are model_specs of the same back ends. With `norms` as fuse-ops has it.
Result<ModelCandidates> model_candidates(const DataflowGraph& graph, const Specs& specs,
                                         std::span<const byoc::BackendChoice> back_ends,
                                         bool norms);

}  // namespace tessera::collage
