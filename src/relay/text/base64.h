// SPDX-License-Identifier: Apache-2.0
// Base64 (RFC 4648, with padding), the form of array data in the metadata section.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::relay {

void append_base64(std::string& out, std::span<const std::byte> bytes);
// Nothing if the text is not base64. Line breaks are passed over.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace tessera::relay
