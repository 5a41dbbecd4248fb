// SPDX-License-Identifier: Apache-2.0
// The model cases of ONNX: folders with `model.onnx` and `test_data_set_*/{input,output}_*.pb`.
#pragma once

#include <string>
#include <vector>

#include "constants/tensor.h"

namespace tessera::onnx_gate {

struct Case {
  std::string name;  // the folder below the root: "node/test_abs"
  std::string folder;
  std::string model() const { return folder + "/model.onnx"; }
};

// All cases below a folder, sorted by name.
std::vector<Case> find_cases(const std::string& root);

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};
struct DataSet {
  std::string name;  // "test_data_set_0"
  std::vector<NamedTensor> inputs, outputs;
};
Result<std::vector<DataSet>> read_data_sets(const Case& c);

// An input or output of the model.
struct Port {
  std::string name;
  DType dtype;
};
// The tensors in the order of the ports: by name where they carry the model's names, else by place.
// Old data sets hold bfloat16 as the bits in uint16.
std::vector<Tensor> in_order(const std::vector<NamedTensor>& tensors,
                             const std::vector<Port>& ports);

// What is wrong with a result: type, shape, or the first element outside of the tolerance of its
// type.
std::optional<std::string> difference(const Tensor& result, const Tensor& expected);

}  // namespace tessera::onnx_gate
