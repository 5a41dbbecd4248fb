// SPDX-License-Identifier: Apache-2.0
// A graph of onnxruntime as a file that the compiler reads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "onnxruntime_provider/ort.h"

namespace tessera::onnxruntime_provider {

// Writes FOLDER/model.onnx, and FOLDER/weights beside it, from which the compiler maps them. Nodes
// are called by their ids, so that what is said of one can be told apart. Throws Ort::Exception,
// and std::runtime_error where a file cannot be written.
void write_model(const Ort::ConstGraph& graph, const std::string& folder);

// The id of the node, or of the one whose body it stands in, that a place of a diagnostic names.
std::optional<std::size_t> node_of_place(std::string_view place);

// Is it a tensor of a type that models' libraries can have for inputs and outputs?
bool is_plain_tensor(const Ort::ConstValueInfo& value);

}  // namespace tessera::onnxruntime_provider
