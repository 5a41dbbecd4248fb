// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "relay/function.h"

namespace tessera {

// What the results of an entry function are called: its attribute `output_names`, which importers
// leave, or else `output`, or `output_0`, `output_1`, ...
std::vector<std::string> output_names(const relay::Function& entry, std::size_t count);

}  // namespace tessera
