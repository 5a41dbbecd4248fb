// SPDX-License-Identifier: Apache-2.0
// What a process that is killed by what it tests says last, on standard error.
#pragma once

#include <string_view>

namespace tessera::guard {

// From here on a signal that ends the process, or a sanitizer, prints what was last given to
// last_words().
void speak_when_killed();
void last_words(std::string_view text);

}  // namespace tessera::guard
