// SPDX-License-Identifier: Apache-2.0
#include "support/visible_text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <fmt/format.h>

#include "support/utf8.h"

namespace tessera {
namespace {

struct Range {
  char32_t first, last;
};
constexpr Range kInvisible[] = {
    {0x00, 0x1F},       {0x7F, 0x9F},       {0xAD, 0xAD},       {0x34F, 0x34F},
    {0x600, 0x605},     {0x61C, 0x61C},     {0x6DD, 0x6DD},     {0x70F, 0x70F},
    {0x180B, 0x180F},   {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},
    {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},   {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},
    {0x110BD, 0x110CD}, {0x13430, 0x1343F}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
};

std::string with_escapes(std::string_view text, std::string_view kept) {
  std::string out;
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    const std::size_t bytes = std::max<std::size_t>(c.bytes, 1);
    if (c.bytes == 0 ||
        (c.code < 0x80 && is_invisible(c.code) && kept.find(text[0]) == kept.npos)) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(text[0]));
    } else if (c.code >= 0x80 && is_invisible(c.code)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<std::uint32_t>(c.code));
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return out;
}

}  // namespace

bool is_invisible(char32_t code) {
  return std::any_of(std::begin(kInvisible), std::end(kInvisible),
                     [&](const Range& r) { return code >= r.first && code <= r.last; });
}

std::string visible(std::string_view text) { return with_escapes(text, ""); }
std::string visible_lines(std::string_view text) { return with_escapes(text, "\n\t"); }

}  // namespace tessera
