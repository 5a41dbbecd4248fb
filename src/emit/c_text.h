// SPDX-License-Identifier: Apache-2.0
// Pieces of C text that both halves of the host program use.
#pragma once

#include <span>
#include <string_view>

#include "support/source.h"
#include "types/dtype.h"

namespace tessera::emit {

// Names of the emitted code's own, which no variable may have.
std::span<const std::string_view> reserved_words();
// `{TESSERA_FLOAT, 32, 1}`
Source c_dtype(DType dtype);

}  // namespace tessera::emit
