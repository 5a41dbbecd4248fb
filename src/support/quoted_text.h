// SPDX-License-Identifier: Apache-2.0
// Strings in the texts of this program: graph IR, loop IR, pattern tables.
#pragma once

#include <string>
#include <string_view>

namespace tessera {

// `"..."` in one line, with `\"`, `\\`, `\n`, `\t`, `\r`, and `\xHH` for the bytes of what is
// invisible and of what is no UTF-8. Any bytes read back as they are.
std::string quoted(std::string_view text);

}  // namespace tessera
