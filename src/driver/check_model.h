// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "module/module.h"

namespace tessera::driver {

// What a text may say and no library can be made of: each finding with its place. Types are known.
Result<void> check_model(const Module& module, const std::string& path);

}  // namespace tessera::driver
