// SPDX-License-Identifier: Apache-2.0
// Ways to make candidates of neighbouring ones (relay-spec 9.6). Each is asked once a round, and
// adds what it finds for the next. What was there in an earlier round is not begun with again:
// unions grow at their upstream side.
#pragma once

#include <functional>
#include <vector>

#include "collage/candidate_set.h"
#include "relay/patterns/pattern_table.h"

namespace tessera::collage {

struct CombinerContext {
  const DataflowGraph& graph;
  CandidateSet& candidates;
  std::size_t max_depth = 0;  // of an upstream and a downstream part together; 0 is no limit
};
using Combiner = std::function<void(const CombinerContext&)>;

// Fires where the upstream candidate is of this kind at most and the downstream one of that.
struct KindPair {
  relay::OpPattern upstream, downstream;
};
// Two candidates that touch become one if any pair fires.
Combiner combine_by_kind(std::vector<KindPair> pairs);
// What one loop nest can hold.
std::vector<KindPair> pairs_of_one_nest();
// What a back end lets put into one function.
std::vector<Combiner> combiners_of(relay::Combining combining);
// Something injective that reads a tuple, the tuple, and for each field something injective that
// makes it; for all choices of these.
Combiner combine_tuple_arguments();
// A candidate and a projection of what it returns.
Combiner combine_projections();
// A candidate and all constants that it reads, scalars excepted, which it has anyway.
Combiner combine_constants();

}  // namespace tessera::collage
