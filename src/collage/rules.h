// SPDX-License-Identifier: Apache-2.0
// Rules that propose candidates, put together from each other (relay-spec 9.6).
#pragma once

#include <string>
#include <vector>

#include "collage/combiners.h"

namespace tessera::collage {

// What the pattern matches and its check accepts, for each node in order; values that only a
// wildcard or a variable matched stay outside. Patterns and target must live as long as the rule.
Rule match_pattern(const relay::CompositePattern& pattern, const ConstantPool* pool);
// One for each call that may be fused with others.
Rule fusible_calls();
// One, at no cost, for each node that needs no kernel.
Rule host_nodes();

// All that the rules propose, one after the other.
Rule united(std::vector<Rule> rules);
// Each wrapped to become a function with `Composite=<name>`.
Rule as_composite(std::string name, Rule rule);
// Each wrapped to become a function with `Primitive=1`, of the spec's back end if it has one.
Rule as_primitive(Rule rule);
// With all that the combiners make of them, round after round until nothing is new.
Rule combined(Rule rule, std::vector<Combiner> combiners, std::size_t max_depth);
Rule only_valid(Rule rule, SubGraphLimits limits);

}  // namespace tessera::collage
