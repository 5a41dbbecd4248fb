// SPDX-License-Identifier: Apache-2.0
// ONNX (opset 7 to 21) as a module. Weights are mapped from the model's files, not read.
#pragma once

#include <string>
#include <vector>

#include "import/import_options.h"
#include "module/module.h"

namespace tessera::import {

// `main` has the graph's inputs as parameters and its outputs as result; the attribute
// `output_names` keeps their names. Every node that cannot be converted is reported, with operator,
// opset and attribute.
Result<Module> import_onnx(const std::string& path, const ImportOptions& options = {});

// A node as messages call it.
struct OnnxNode {
  std::string name;  // the place of its messages
  std::string op_type, domain;
  int opset = 1;          // of its domain
  bool looked_at = true;  // false: it needs what a refused node was to give
};

// The nodes that import_onnx comes to, each once, whatever becomes of them.
Result<std::vector<OnnxNode>> imported_nodes(const std::string& path,
                                             const ImportOptions& options = {});

}  // namespace tessera::import
