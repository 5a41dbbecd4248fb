// SPDX-License-Identifier: Apache-2.0
#include "support/json_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "support/utf8.h"
#include "support/visible_text.h"

namespace tessera {

namespace {

// `\u202e`, or two of them beyond the first plane.
void append_escaped(std::string& out, char32_t code) {
  const auto unit = [&](std::uint32_t u) {
    fmt::format_to(std::back_inserter(out), "\\u{:04x}", u);
  };
  if (code < 0x10000) return unit(code);
  unit(0xD800 + ((code - 0x10000) >> 10));
  unit(0xDC00 + ((code - 0x10000) & 0x3FF));
}

// What is invisible stands in strings alone, but for the line ends and blanks of the layout.
std::string with_visible_strings(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const Utf8Character c = first_character(json);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (c.code >= 0x7F && is_invisible(c.code)) {
      append_escaped(out, c.code);
    } else {
      out += json.substr(0, bytes);
    }
    json.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  using Json = nlohmann::ordered_json;
  return with_visible_strings(json.dump(indent, ' ', false, Json::error_handler_t::replace));
}

}  // namespace tessera
