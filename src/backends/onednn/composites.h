// SPDX-License-Identifier: Apache-2.0
// The composites that oneDNN runs, in order of priority.
#pragma once

#include <span>

#include "backends/onednn/kernel.h"
#include "relay/patterns/matcher.h"

namespace tessera::backends::onednn {

struct Composite {
  std::string name;  // "onednn.conv2d_bias_relu"
  relay::Pattern pattern;
  KernelOr (*describe)(const Subject& subject, std::string_view activation_name);
  std::string_view activation;  // "" for none
};

// Larger ones first: what a pattern does not match, or its check refuses, is left to smaller ones.
// Several entries may have one name.
std::span<const Composite> composites();

// The kernel of a composite literal or of a match in the model. The first of the entries of that
// name that matches decides.
KernelOr describe(const relay::IndexedGraph& graph, NodeId root, std::string_view composite,
                  const ConstantPool* pool, Match* match);

}  // namespace tessera::backends::onednn
