// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "support/source.h"

namespace tessera::emit {

// Source text on the way, line by line, each with the indentation that is due.
class SourceText {
 protected:
  template <class... A>
  void line(fmt::format_string<A...> text, A&&... args) {
    out_.append(indent_, " ");
    out_ += source(text, std::forward<A>(args)...);
    out_ += "\n";
  }
  void empty_line() { out_ += "\n"; }
  void open(const Source& text) {
    line("{}", text);
    indent_ += 2;
  }
  void close(Literal text = "}") {
    indent_ -= 2;
    line("{}", text);
  }

  Source out_;
  std::size_t indent_ = 0;
};

}  // namespace tessera::emit
