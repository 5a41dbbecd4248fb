// SPDX-License-Identifier: Apache-2.0
// Weights in the safetensors format: a JSON header, then the data of all tensors without gaps.
#pragma once

#include <map>
#include <string>

#include "constants/tensor.h"

namespace tessera {

// All tensors by name, mapped. Every problem of the header is reported, each with its tensor.
Result<std::map<std::string, Tensor>> read_safetensors(const std::string& path);

}  // namespace tessera
