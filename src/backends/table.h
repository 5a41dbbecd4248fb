// SPDX-License-Identifier: Apache-2.0
// All back ends there are, in the order of backends.def.
#pragma once

#include <span>
#include <string_view>

#include "byoc/backend.h"

namespace tessera::backends {

std::span<const byoc::Backend* const> all_backends();
// Null if there is none of that name.
const byoc::Backend* find_backend(std::string_view name);

}  // namespace tessera::backends
