// SPDX-License-Identifier: Apache-2.0
// What a file of ONNX says of itself, whether or not it can be imported.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera::import {

struct OnnxPort {
  std::string name;
  std::string type;  // `Tensor[(?batch, 3), float32]`, as far as it is told
};

struct OperatorUse {
  std::string domain;  // "ai.onnx" for the default one
  std::string op_type;
  int opset = 1;  // of its domain
  int count = 0;  // of nodes, those of bodies included
  bool is_known = true;
  std::string why;  // it is not known, if that can be told
};

struct OnnxContents {
  std::vector<OnnxPort> inputs, outputs;
  std::map<std::string, int> opsets;   // that the model imports, by domain
  std::vector<OperatorUse> operators;  // by domain and name
  std::set<std::string> data_files;    // beside the model, with data of its tensors
};

Result<OnnxContents> onnx_contents(const std::string& path);

}  // namespace tessera::import
