// SPDX-License-Identifier: Apache-2.0
// Text for pages that are HTML and well-formed XML at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "support/safe_text.h"

namespace tessera::driver {

// What a page is made of: see support/safe_text.h.
using Html = SafeText<struct HtmlPlace>;

// `html("<p>{}</p>", text)`
template <class... A>
Html html(fmt::format_string<A...> format,
          A&&... args) requires(kIsSafeIn<std::remove_cvref_t<A>, HtmlPlace>&&...) {
  return safe_format<HtmlPlace>(format, std::forward<A>(args)...);
}

// For text and attribute values: names in a model may hold anything, markup, marks of direction and
// bytes that are no UTF-8 included.
Html html_text(std::string_view text);

class HtmlTable {
 public:
  explicit HtmlTable(const std::vector<std::string>& header);
  void row(const std::vector<Html>& cells);
  Html done() &&;

 private:
  Html out_;
};

// What differs from run to run stands in such elements, and nowhere else.
Html html_time(const std::string& text);

}  // namespace tessera::driver
