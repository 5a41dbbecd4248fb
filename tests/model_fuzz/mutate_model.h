// SPDX-License-Identifier: Apache-2.0
// ONNX models made hostile: valid as messages, with attributes, sizes, ranks, types and inputs that
// nobody means well with.
#pragma once

#include <cstdint>
#include <random>
#include <string>

#include "onnx.pb.h"

namespace tessera::model_fuzz {

// One to four changes; the same seed makes the same. What was done, in words.
std::string mutate(onnx::ModelProto& model, std::uint64_t seed);

}  // namespace tessera::model_fuzz
