// SPDX-License-Identifier: Apache-2.0
// The device that plans are made for, which need not be there.
#pragma once

#include <string>

#include "types/target.h"

namespace tessera::backends::cudnn {

std::string architecture(const Target& target);  // "sm_90a"
std::int64_t multiprocessors(const Target& target);
// In the JSON that cuDNN describes devices by: of the architecture's usual device.
std::string device_properties(const Target& target);

}  // namespace tessera::backends::cudnn
