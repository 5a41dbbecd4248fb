// SPDX-License-Identifier: Apache-2.0
// Activations that oneDNN applies to a primitive's result before it is stored, in all the forms in
// which models write them.
#pragma once

#include <span>

#include "backends/onednn/kernel.h"

namespace tessera::backends::onednn {

struct Activation {
  std::string_view name;  // "gelu_erf": part of the composite's name
  // The activation of x; its root is captured as "activation".
  relay::Pattern (*pattern)(const relay::Pattern& x);
  // Which post-operation it is, and through *input the node that x matched.
  Expected<PostOp, Refusal> (*post_op)(const Subject& subject, NodeId root, NodeId* input);
};

// In the order in which patterns try them.
std::span<const Activation> activations();
const Activation* find_activation(std::string_view name);

}  // namespace tessera::backends::onednn
