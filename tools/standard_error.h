// SPDX-License-Identifier: Apache-2.0
// Standard error: what cannot be written there, because it is closed or its disk is full, is lost,
// and the exit status says the rest.
#pragma once

#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "support/visible_text.h"

namespace tessera::tools {

// As it is: for what has commands of the terminal on purpose.
void write_standard_error(std::string_view text);

// Text with names of models, files and libraries in it: what a terminal would obey is made visible.
template <class... A>
void tell(fmt::format_string<A...> text, A&&... arguments) {
  write_standard_error(visible_lines(fmt::format(text, std::forward<A>(arguments)...)));
}

// To be called before any file is opened: a stream that the caller has closed would otherwise be
// the next file, which messages are then written into. Writing to it still fails.
void occupy_closed_streams();

}  // namespace tessera::tools
