// SPDX-License-Identifier: Apache-2.0
// The steps of the pass `partition-graph` (relay-spec 2.10), each from function to function.
#pragma once

#include <string>
#include <vector>

#include "byoc/annotated_regions.h"

namespace tessera::byoc {

// An end of a tuple becomes the tuple of ends of its fields: a region that several values leave
// returns a tuple anyway. Tuples among the fields stay.
relay::Function flatten_tuple_ends(const relay::Function& f);
// Marks of the target `default` go.
relay::Function without_default_annotations(const relay::Function& f);

// A region as a function of its own, and what its call is made of.
struct RegionFunction {
  relay::Function function;            // without attributes
  std::vector<relay::NodeId> inputs;   // nodes of the old function, one a parameter
  std::vector<relay::NodeId> outputs;  // the same; several make a tuple
};
struct RegionFunctionOptions {
  bool bind_constants = true;
};
// Parameters are called `<target>_<id>_i<index of the begin>`, one for each distinct value that
// enters, in order of evaluation. `captured`: relay::captures(f).
Result<RegionFunction> make_region_function(const relay::Function& f,
                                            const AnnotatedRegions& regions, std::size_t region,
                                            const std::vector<std::vector<relay::NodeId>>& captured,
                                            const RegionFunctionOptions& options);

// The characters outside of [A-Za-z0-9_] replaced by `_`.
std::string legal_identifier(std::string text);

}  // namespace tessera::byoc
