// SPDX-License-Identifier: Apache-2.0
// JSON as text.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace tessera {

// Names in a model, paths and what compilers print may hold bytes that are no UTF-8; each of these
// is replaced, and what is invisible (support/visible_text.h) stands there as `\u202e`. On one line
// where `indent` is negative.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace tessera
