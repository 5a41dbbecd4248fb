// SPDX-License-Identifier: Apache-2.0
// What the body of a loop takes from around it.
#pragma once

#include <string>
#include <vector>

#include "onnx.pb.h"

namespace tessera::import {

// What a graph and the graphs within it read from around it, in order of first use.
std::vector<std::string> free_names(const onnx::GraphProto& graph);

}  // namespace tessera::import
