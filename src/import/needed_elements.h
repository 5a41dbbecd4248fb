// SPDX-License-Identifier: Apache-2.0
// Which sizes of a model may not be 0.
#pragma once

#include <set>
#include <string>

#include "relay/function.h"

namespace tessera::import {

// The symbols that a mean, an index of the largest or a global pooling goes over, and those that
// sizes are divided by: of nothing, and by nothing, there is no result.
std::set<std::string> needed_sizes(const relay::Function& f);

}  // namespace tessera::import
