// SPDX-License-Identifier: Apache-2.0
// What a library says about itself (JSON at `tessera_metadata`): inputs, outputs, placement, memory
// plan, libraries.
#pragma once

#include <string>

#include "driver/build.h"

namespace tessera::driver {

std::string metadata_json(const Lowered& lowered, const CompileReport& report,
                          const std::string& target, std::span<const MachineCode> machines);

}  // namespace tessera::driver
