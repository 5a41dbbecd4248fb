// SPDX-License-Identifier: Apache-2.0
// What follows a product or convolution inside one composite: the path from the composite's root
// down to the core, step by step.
#pragma once

#include "backends/onednn/kernel.h"

namespace tessera::backends::onednn {

enum class EpilogueKind : std::uint8_t { kView, kAdd, kScale, kActivation };

struct EpilogueStep {
  EpilogueKind kind;
  NodeId node;        // the operator's call
  NodeId other;       // kAdd: the value that is added
  double factor = 1;  // kScale
  PostOp activation;  // kActivation
};

// From the root to the core.
Expected<std::vector<EpilogueStep>, Refusal> epilogue(const Subject& subject, NodeId core,
                                                      std::string_view activation_name);

// reshape and its kin: another shape of the same bytes.
bool is_reshape(std::string_view op);

// multiply or divide by a constant of one element; nothing for any other call.
struct Scaling {
  NodeId value;
  double factor;
};
std::optional<Scaling> scaling(const Subject& subject, NodeId call);

// The permutation of a transpose; reverses where none is given.
Ints transpose_axes(const Subject& subject, NodeId call);

}  // namespace tessera::backends::onednn
