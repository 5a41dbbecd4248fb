// SPDX-License-Identifier: Apache-2.0
// What of a quantised model is computed in floats, as the report and the library's metadata have
// it.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "passes/float_operators.h"

namespace tessera::driver {

nlohmann::ordered_json float_operators_json(const std::vector<passes::FloatOperators>& rows);

}  // namespace tessera::driver
