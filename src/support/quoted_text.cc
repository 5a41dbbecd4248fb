// SPDX-License-Identifier: Apache-2.0
#include "support/quoted_text.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "support/utf8.h"
#include "support/visible_text.h"

namespace tessera {

std::string quoted(std::string_view text) {
  constexpr std::string_view kEscaped = "\"\\\n\t\r", kLetters = "\"\\ntr";
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character c = first_character(text);
    const std::string_view bytes = text.substr(0, std::max<std::size_t>(c.bytes, 1));
    if (const std::size_t at = kEscaped.find(text[0]); at != kEscaped.npos) {
      out += {'\\', kLetters[at]};
    } else if (c.bytes == 0 || is_invisible(c.code)) {
      for (const char byte : bytes) {
        fmt::format_to(std::back_inserter(out), "\\x{:02x}", static_cast<unsigned char>(byte));
      }
    } else {
      out += bytes;
    }
    text.remove_prefix(bytes.size());
  }
  return out + '"';
}

}  // namespace tessera
