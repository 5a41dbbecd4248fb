// SPDX-License-Identifier: Apache-2.0
// Which nodes of a function which back end would run: composites claimed in order of priority.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "byoc/backend.h"
#include "byoc/declined_regions.h"
#include "relay/patterns/pattern_groups.h"
#include "relay/rewrite.h"

namespace tessera::byoc {

struct BackendChoice {
  const Backend* backend = nullptr;
  Target target;
  std::shared_ptr<const DeclinedRegions> declined = {};  // null: nothing

  // What it says of a whole region, in advance or because it declined an equal one.
  std::optional<Refusal> validate(const relay::Function& region, const ConstantPool& pool) const;
  bool has_declined() const { return declined != nullptr && !declined->empty(); }
};

// One composite in a function.
struct Claim {
  std::size_t choice = 0;  // index into the list of back ends
  std::string composite;
  relay::Match match;
  relay::Function function;  // the composite, with a parameter for each input of the match
};

// A back end that looked at a composite and would not have it. `node` is its root, or where that
// went to a smaller composite, the last of its nodes that did not.
struct RefusedNode {
  relay::NodeId node;
  std::size_t choice = 0;
  std::string composite;
  std::string reason;
  std::vector<relay::NodeId> inside;  // the nodes of the composite
};

struct Claims {
  std::vector<Claim> claims;          // by root, ascending
  std::vector<std::int32_t> of_node;  // index into claims; -1: nobody's (constants always)
  // Refusals of nodes that stayed with nobody, or with a later back end than the one that refuses.
  std::vector<RefusedNode> refused;
};

// (root, choice): what a back end did not want as a part of its region.
using Vetoes = std::map<std::pair<relay::NodeId, std::size_t>, std::string>;

// A plan: who computes each node of a function.
struct Assignment {
  std::vector<const Backend*> by_node;  // null: nobody
  const Backend* of_rest = nullptr;     // takes what is nobody's, as far as its patterns go
  bool allows(const Backend* backend, relay::NodeId id) const {
    const Backend* chosen = by_node[id.index()];
    return chosen == backend || (chosen == nullptr && backend == of_rest);
  }
};

// Back ends in order, patterns in order, roots from the last to the first: who comes first claims.
// Nodes inside a match that something outside reads make it no match, and so do nodes that are part
// of it and its input at once: nothing is computed twice. When all patterns of a back end have
// claimed, those that grow take what nobody has and follows them. With an assignment each back end
// claims among its own nodes alone.
Claims claim_composites(const relay::Function& f, const ConstantPool& pool,
                        std::span<const BackendChoice> choices, const Vetoes& vetoes = {},
                        const Assignment* assignment = nullptr);

}  // namespace tessera::byoc
