// SPDX-License-Identifier: Apache-2.0
// Compiler functions that a model brings with it, as literals or as globals, on their way to the
// back ends that they name.
#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "byoc/partition.h"

namespace tessera::byoc {

// The back end of a `Compiler` attribute, or why there is none.
using FindBackend = std::function<std::variant<BackendChoice, Refusal>(const std::string& name)>;

struct Adopted {
  PartitionOutcome outcome;            // the regions that back ends took, and the rest
  std::vector<BackendChoice> choices;  // of these back ends, once each
};

// Literals become globals first. Each function is then partitioned anew for its back end alone,
// because names of composites promise nothing. Composites that the back end compiles whole without
// a pattern of its own keep their names. What else it takes are functions in its own words. The
// rest goes back into the callers, and so do functions of back ends that are not there. A warning
// tells of these, and of a composite that does not stay whole; an error with context.strict.
// Functions that nobody calls go. Needs inferred types; the result has them.
Result<Adopted> adopt_compiler_functions(Module module, const FindBackend& find,
                                         CompileContext& context);

}  // namespace tessera::byoc
