// SPDX-License-Identifier: Apache-2.0
// For tests: real architectures with seeded weights, and what onnxruntime computes for them.
#pragma once

#include <string>
#include <vector>

#include "constants/tensor.h"

namespace tessera::e2e {

struct WholeModel {
  std::string onnx;
  std::string inputs, outputs;  // folders of NAME.npy
};

// bench/models/NAME.skeleton.onnx filled by bench/tools/hydrate.py, with inputs and outputs by
// reference.py. Made once and kept in the build folder.
WholeModel whole_model(const std::string& name, const std::vector<std::string>& dims);

// The largest difference between the tensors of two folders, each relative to the largest magnitude
// of `wanted`; throws if names, shapes or types differ.
double largest_difference(const std::string& found, const std::string& wanted);

}  // namespace tessera::e2e
