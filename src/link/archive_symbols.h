// SPDX-License-Identifier: Apache-2.0
// What a static library defines, by the index that `ar s` writes.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace tessera::link {

// Names of global definitions; nothing if the bytes are no archive, or one without an index.
std::optional<std::set<std::string>> archive_symbols(std::string_view archive);

}  // namespace tessera::link
