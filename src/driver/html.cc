// SPDX-License-Identifier: Apache-2.0
#include "driver/html.h"

#include <fmt/format.h>

namespace tessera::driver {
namespace {

// Of the character that begins there; 0: it is none.
std::size_t utf8_bytes(std::string_view text) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = at(0);
  const std::size_t bytes = lead < 0x80   ? 1
                            : lead < 0xC2 ? 0
                            : lead < 0xE0 ? 2
                            : lead < 0xF0 ? 3
                            : lead < 0xF5 ? 4
                                          : 0;
  if (bytes == 0 || bytes > text.size()) return 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((at(i) & 0xC0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, what is beyond Unicode, and U+FFFE and U+FFFF, which XML refuses.
  if (bytes == 3 && ((lead == 0xE0 && at(1) < 0xA0) || (lead == 0xED && at(1) > 0x9F))) return 0;
  if (bytes == 3 && lead == 0xEF && at(1) == 0xBF && at(2) >= 0xBE) return 0;
  if (bytes == 4 && ((lead == 0xF0 && at(1) < 0x90) || (lead == 0xF4 && at(1) > 0x8F))) return 0;
  return bytes;
}

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    const std::size_t bytes = utf8_bytes(text);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (bytes == 0 ||
               (bytes == 1 && static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t')) {
      out += kReplacement;  // XML has no control characters
    } else {
      out += text.substr(0, bytes);
    }
    text.remove_prefix(bytes == 0 ? 1 : bytes);
  }
  return out;
}

HtmlTable::HtmlTable(const std::vector<std::string>& header) {
  out_ = "<table>\n<tr>";
  for (const std::string& name : header) out_ += fmt::format("<th>{}</th>", html_text(name));
  out_ += "</tr>\n";
}

void HtmlTable::row(const std::vector<std::string>& cells) {
  out_ += "<tr>";
  for (const std::string& cell : cells) out_ += fmt::format("<td>{}</td>", cell);
  out_ += "</tr>\n";
}

std::string HtmlTable::done() && { return std::move(out_) + "</table>\n"; }

std::string html_time(const std::string& text) {
  return fmt::format("<span class=\"time\">{}</span>", html_text(text));
}

}  // namespace tessera::driver
