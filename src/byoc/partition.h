// SPDX-License-Identifier: Apache-2.0
// Greedy placement by a list of priorities: each back end takes what its patterns match and its
// checks accept, in order; the rest is `native`'s.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "byoc/composites.h"

namespace tessera::byoc {

// A region that went to a back end.
struct PlacedRegion {
  std::string symbol;
  std::string backend;
  std::vector<std::string> composites;  // "onednn.dense_bias", in order of execution
  std::vector<std::string> operators;   // "nn.dense", "add", ...
  std::vector<Location> sources;        // model nodes
};

// Why a back end of higher priority did not take an operator that one of its patterns is rooted at.
struct PlacementRefusal {
  std::string backend;
  std::string composite;
  std::string op;
  Location source;
  std::string reason;
  std::string taken_by;  // another back end, or "native"
};

// The refusal of a back end that lacks its library: all goes to others.
PlacementRefusal refusal_of(const BackendChoice& choice, const Refusal& why);

struct PartitionOutcome {
  Module module;
  std::vector<PlacedRegion> regions;
  std::vector<PlacementRefusal>
      refusals;  // one an (operator, back end): the first pattern's reason
};

// The functions that are partitioned: optimizable, and no kernels. In the order of their names.
std::vector<std::string> functions_to_partition(const Module& module);

// Regions of all optimizable functions become global functions `<back end>_<function>_<number>`
// with the attributes `global_symbol`, `Primitive`, `Compiler` and `Inline`; inside, composites are
// literals with `Composite` and `PartitionedFromPattern`. Needs inferred types; the result has
// them.
Result<PartitionOutcome> partition_greedy(Module module, std::span<const BackendChoice> choices);
// The same for one function of the outcome's module, with back ends that are all there; with an
// assignment as that says, which a function with branches cannot have: they are scopes.
void partition_function(const std::string& name, std::span<const BackendChoice> backends,
                        PartitionOutcome& outcome, const Assignment* assignment = nullptr);

}  // namespace tessera::byoc
