// SPDX-License-Identifier: Apache-2.0
// Calls of loop functions, wherever they stand in a module: `call_lowered` in functions of the
// graph, `T.call_kernel` in host programs.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::lower {

// The constants among the inputs that a call gives.
using GivenConstants = std::vector<std::optional<ConstantValue>>;

// All calls of each loop function whose inputs may change: whoever refers to it calls it, and names
// each argument. A function without calls has no entry, nor has one of a back end.
std::map<std::string, std::vector<GivenConstants>> calls_of_loops(const Module& module);

// Other inputs for a loop function: some leave, and constants follow those that stay.
struct InputChange {
  std::vector<bool> leaves;  // one an input
  // Those that follow, for a call that gives these.
  std::function<std::vector<ConstantIndex>(const GivenConstants&)> added;
};
// Changes the calls; the functions are their passes' business. Constants that calls alone have read
// are defined no more.
Module change_calls(Module module, const std::map<std::string, InputChange>& changes);

}  // namespace tessera::lower
