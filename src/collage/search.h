// SPDX-License-Identifier: Apache-2.0
// The cheapest candidates that cover a graph, each node once (relay-spec 9.11).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "collage/candidate.h"
#include "collage/covered.h"

namespace tessera::collage {

struct Plan {
  std::vector<std::size_t> chosen;  // places in the list of candidates, by their first node
  Cost cost;                        // the sum
};

// Shortest path over covered sets: from each, candidates that begin at the first node that is not
// covered. Costs must be known; of equal ones the set that comes first in the order of IndexSet is
// looked at first. `candidates` are sorted. A node that no way leads past is an error.
Result<Plan> search(const DataflowGraph& graph, std::span<const Candidate> candidates);

struct BoundedPlan : Plan {
  std::size_t dropped = 0;  // covered sets that were given up; 0: no plan is cheaper
};

// A value in the forms in which there is it, as bits; the first bit is the graph's own.
struct ValueForms {
  Index value = 0;
  std::uint32_t forms = 1;
  bool operator==(const ValueForms&) const = default;
};

// What candidates take beside their costs where values go from one to the other.
class Borders {
 public:
  struct Crossed {
    // Of values that are still read, those that are not in the graph's own form alone; ascending.
    std::vector<ValueForms> forms;
    double seconds = 0;
  };
  virtual ~Borders() = default;
  // When a candidate, by its place in the list, is taken, and `covered` is with it.
  virtual Crossed cross(const std::vector<ValueForms>& before, std::size_t candidate,
                        const Covered& covered) const = 0;
};

// The same for whole models, where parallel branches make more sets than can be looked at. From the
// first node on, all sets whose first uncovered node is the same are looked at together; if there
// are more than `width`, the most promising are kept, by their cost less what the nodes beyond are
// worth. What borders take is part of the sum.
Result<BoundedPlan> bounded_search(const DataflowGraph& graph,
                                   std::span<const Candidate> candidates, std::size_t width,
                                   const Borders* borders = nullptr);

Diagnostic uncovered(const DataflowGraph& graph, Index index);

}  // namespace tessera::collage
