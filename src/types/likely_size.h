// SPDX-License-Identifier: Apache-2.0
// Sizes to optimise for, and to try a model with, where it leaves them open.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "types/dim.h"

namespace tessera {

// What the user says, else 128 if the range has it, else the nearest that it has.
std::int64_t likely_size(const Symbol& symbol);
std::map<std::string, Dim> likely_sizes(const SymbolTable& symbols);
// Of what is made of symbols with these sizes; what is not known counts as a likely size does.
std::int64_t likely_value(const Dim& size, const std::map<std::string, Dim>& likely);

}  // namespace tessera
