// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tessera::emit {

// Source text on the way, line by line, each with the indentation that is due.
class SourceText {
 protected:
  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    out_.append(indent_, ' ');
    fmt::format_to(std::back_inserter(out_), text, std::forward<A>(args)...);
    out_ += '\n';
  }
  void empty_line() { out_ += '\n'; }
  void open(std::string_view text) {
    line("{}", text);
    indent_ += 2;
  }
  void close(std::string_view text = "}") {
    indent_ -= 2;
    line("{}", text);
  }

  std::string out_;
  std::size_t indent_ = 0;
};

}  // namespace tessera::emit
