// SPDX-License-Identifier: Apache-2.0
// Activations that are attributes of other operators: of recurrent ones, and of those that
// onnxruntime's optimiser fuses with a product or convolution.
#pragma once

#include "import/value.h"

namespace tessera::import {

struct Activation {
  std::string name;  // of ONNX's operator, in any case
  // As far as the node gives them; else those that ONNX's operator has by default.
  std::optional<double> alpha = {}, beta = {}, gamma = {};
};

// An error for an activation that is not known.
Value activate(Value x, const Activation& activation);

}  // namespace tessera::import
