// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include "relay/patterns/pattern_table.h"
#include "support/expected.h"

namespace tessera::relay {

// `return refuse("K = {} is no multiple of 8", k);` where an Expected<T, Refusal> is due.
template <class... A>
Unexpected<Refusal> refuse(fmt::format_string<A...> text, A&&... a) {
  return {Refusal{fmt::format(text, std::forward<A>(a)...)}};
}

}  // namespace tessera::relay
