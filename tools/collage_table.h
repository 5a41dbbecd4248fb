// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "driver/options.h"

namespace tessera::tools {

// The regions of the searched plan, each with its time, the runner-up and who cannot compute it;
// then whole plans with their times, the one that was written marked.
std::string collage_table(const driver::CollageReport& report);
// The same for programs, times in microseconds.
nlohmann::ordered_json collage_json(const driver::CollageReport& report);

}  // namespace tessera::tools
