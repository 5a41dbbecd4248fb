// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "driver/options.h"

namespace tessera::driver {

// Region, back end, operators and the reason why a preferred back end declined; a summary line
// first.
std::string placement_table(const std::vector<PlacementRow>& rows);
// Equal texts once, each with its number, in the order of first occurrence.
std::vector<std::pair<std::string, std::size_t>> counted(const std::vector<std::string>& texts);
// "nn.dense, add x12": repetitions counted, in order of first occurrence.
std::string operators_text(const std::vector<std::string>& operators);
// "1.4 MB", "512 B": powers of 1000.
std::string size_text(std::uint64_t bytes);

}  // namespace tessera::driver
