// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "tune/tuner.h"

namespace tessera::tools {

// A line a product: its best configuration and time, and those that would be taken without records.
std::string tuning_table(const std::vector<tune::TuneRow>& rows);
// The same for programs: an object a product, times in microseconds.
nlohmann::ordered_json tuning_json(const std::vector<tune::TuneRow>& rows);

}  // namespace tessera::tools
