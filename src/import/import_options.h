// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "types/dim.h"

namespace tessera::import {

// What the user says about the model's symbolic dimensions (`--dim`).
struct ImportOptions {
  std::map<std::string, std::int64_t> sizes;  // made numbers
  SymbolTable ranges;                         // what is known of symbols that stay
};

}  // namespace tessera::import
