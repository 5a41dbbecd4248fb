// SPDX-License-Identifier: Apache-2.0
// `main` node by node with the operators' reference evaluation. For tests: the importer is checked
// without anything after it.
#pragma once

#include <vector>

#include "module/module.h"

namespace tessera::onnx_gate {

Result<std::vector<Tensor>> evaluate_graph(const Module& module, const std::vector<Tensor>& inputs);

}  // namespace tessera::onnx_gate
