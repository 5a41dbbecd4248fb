// SPDX-License-Identifier: Apache-2.0
// Pieces of C text that both halves of the host program use.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "types/dtype.h"

namespace tessera::emit {

// A C string literal of any bytes; long text is broken into several lines.
std::string c_string(std::string_view text);
// Words of C++ and names of the emitted code's own, which no variable may have.
std::span<const std::string_view> reserved_words();
// A legal C identifier that resembles `name`.
std::string c_identifier(std::string_view name);
// `{TESSERA_FLOAT, 32, 1}`
std::string c_dtype(DType dtype);

}  // namespace tessera::emit
