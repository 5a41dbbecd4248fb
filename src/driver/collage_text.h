// SPDX-License-Identifier: Apache-2.0
// What --partition collage found, for people and for the library's metadata.
#pragma once

#include <string>
#include <vector>

#include "driver/options.h"

namespace tessera::driver {

// "onednn 12.3 us", or "blas: why it cannot".
std::string way_text(const collage::PricedWay& way);
std::string others_text(const std::vector<collage::PricedWay>& others);
// "239.1 us", or why it has no time.
std::string time_text(const WholePlan& plan);
std::string time_text(const collage::PricedWay& way);
std::string microseconds(double seconds);

}  // namespace tessera::driver
