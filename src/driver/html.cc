// SPDX-License-Identifier: Apache-2.0
#include "driver/html.h"

#include <algorithm>

#include "support/utf8.h"
#include "support/visible_text.h"

namespace tessera::driver {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

}  // namespace

Html html_text(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text[0];
    const Utf8Character one = first_character(text);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (one.bytes == 0 || one.code == 0xFFFE || one.code == 0xFFFF) {
      out += kReplacement;
    } else if (is_invisible(one.code) && c != '\n' && c != '\t') {
      out += visible(text.substr(0, one.bytes));  // XML has no control characters
    } else {
      out += text.substr(0, one.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(one.bytes, 1));
  }
  return Html::trusted(std::move(out));
}

HtmlTable::HtmlTable(const std::vector<std::string>& header) {
  out_ += "<table>\n<tr>";
  for (const std::string& name : header) out_ += html("<th>{}</th>", html_text(name));
  out_ += "</tr>\n";
}

void HtmlTable::row(const std::vector<Html>& cells) {
  out_ += "<tr>";
  for (const Html& cell : cells) out_ += html("<td>{}</td>", cell);
  out_ += "</tr>\n";
}

Html HtmlTable::done() && { return std::move(out_) + "</table>\n"; }

Html html_time(const std::string& text) {
  return html("<span class=\"time\">{}</span>", html_text(text));
}

}  // namespace tessera::driver
