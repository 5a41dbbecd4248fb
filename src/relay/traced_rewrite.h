// SPDX-License-Identifier: Apache-2.0
// relay::rewrite, for those who ask afterwards where values are.
#pragma once

#include <vector>

#include "relay/rewrite.h"

namespace tessera::relay {

// Where nodes are in the new function; invalid: nothing uses it.
struct Rewritten {
  Function function;
  std::vector<NodeId> of_old;   // by node of the old one: what stands for it
  std::vector<NodeId> of_made;  // by node as the callback's builder had it
};
Rewritten traced_rewrite(const Function& f, const Copier::Callback& replace);

}  // namespace tessera::relay
