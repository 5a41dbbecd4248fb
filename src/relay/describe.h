// SPDX-License-Identifier: Apache-2.0
// Nodes in the words of messages.
#pragma once

#include <string>

#include "relay/function.h"

namespace tessera::relay {

// "a call of `exp`", "the parameter `%x`", "a constant".
std::string describe(const Function& f, NodeId id);

}  // namespace tessera::relay
