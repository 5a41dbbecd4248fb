// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "driver/options.h"

namespace tessera::tools {

// What a compilation reports, for programs.
nlohmann::ordered_json report_json(const driver::CompileReport& report);

}  // namespace tessera::tools
