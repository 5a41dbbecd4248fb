// SPDX-License-Identifier: Apache-2.0
// Functions as Relay text (relay-spec 1); relay/parse.h reads it. Whole modules: module/text.h.
#pragma once

#include <string>
#include <string_view>

#include "constants/pool.h"
#include "relay/function.h"

namespace tessera::relay {

struct PrintOptions {
  bool types = true;   // `/* ty=... */` after what has a type
  bool spans = false;  // `span=...` in the same comment
};

// `fn (...) -> ... { ... }`, without metadata: constants that have no literal appear as
// `meta[relay.Constant][i]`. The pool is needed where the function refers to one.
std::string print(const Function& f, const PrintOptions& options = {},
                  const ConstantPool* pool = nullptr);

}  // namespace tessera::relay
