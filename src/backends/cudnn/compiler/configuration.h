// SPDX-License-Identifier: Apache-2.0
// How a plan's engine and choices stand in records.
#pragma once

#include <string>

#include "backends/cudnn/runtime/plan.h"

namespace tessera::backends::cudnn {

// As runtime/configuration.h reads it; "" if the library does not tell.
std::string configuration_text(const Api& api, const Plan& plan);

}  // namespace tessera::backends::cudnn
