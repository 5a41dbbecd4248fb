// SPDX-License-Identifier: Apache-2.0
// What `--weights` made of weights, as the report and the library's metadata have it.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "passes/weights_report.h"

namespace tessera::driver {

nlohmann::ordered_json weights_json(const std::vector<passes::WeightRow>& rows);
// In a line: "12 of 14, 66.3 MB of 98.7 MB".
std::string what_was_stored(const std::vector<passes::WeightRow>& rows);

}  // namespace tessera::driver
