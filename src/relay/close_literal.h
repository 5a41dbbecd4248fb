// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "relay/rewrite.h"

namespace tessera::relay {

// What a literal reads from outside, references to globals excepted; ascending.
std::vector<NodeId> captured_values(const Function& f, NodeId literal);

// The literal as a function of its own, which takes these values before its parameters. The
// callback may replace nodes of its body.
Function close_literal(const Function& f, NodeId literal, const std::vector<NodeId>& captured,
                       const Copier::Callback& replace = {});

// What is known of a node's type: inferred, or as it is annotated.
Type known_type(const Function& f, NodeId id);

}  // namespace tessera::relay
