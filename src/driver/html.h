// SPDX-License-Identifier: Apache-2.0
// Text for pages that are HTML and well-formed XML at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tessera::driver {

// For text and attribute values: names in a model may hold anything, markup and bytes that are no
// UTF-8 included.
std::string html_text(std::string_view text);

// Rows of cells, each of which is HTML already.
class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& header);
  void row(const std::vector<std::string>& cells);
  std::string done() &&;

 private:
  std::string out_;
};

// What differs from run to run stands in such elements, and nowhere else.
std::string html_time(const std::string& text);

}  // namespace tessera::driver
