// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "types/dim.h"

namespace tessera::ops {

// `to` in the codes of `reshape`: 0 copies a size, -1 is what remains; nothing where they do not
// suffice. That both have equally many elements is for the caller to know.
std::optional<std::vector<std::int64_t>> reshape_codes(const Shape& from, const Shape& to);

}  // namespace tessera::ops
