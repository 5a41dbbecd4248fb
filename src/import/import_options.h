// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "diagnostics/limits.h"
#include "types/dim.h"

namespace tessera::import {

// Initializers of the model's graph that stay parameters (`--keep-weights`).
struct KeptNames {
  std::set<std::string> names;
  // Those of floating-point numbers, more than one, too; but not where the import needs their
  // values.
  bool all = false;
};

// What the user says about the model: of its symbolic dimensions (`--dim`), and of its weights.
struct ImportOptions {
  std::map<std::string, std::int64_t> sizes;  // made numbers
  SymbolTable ranges;                         // what is known of symbols that stay
  KeptNames kept;
  LimitBindings limits;  // where they are not those that follow from the model
};

}  // namespace tessera::import
