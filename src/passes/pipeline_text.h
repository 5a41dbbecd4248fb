// SPDX-License-Identifier: Apache-2.0
// Text of a list of passes: `fuse-ops{max_depth=4,link_params=true},inline`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace tessera::passes {

struct PassCall {
  const Pass* pass = nullptr;
  relay::Attrs options;  // normalised
  Location place = {};   // in the text
};

// Values are bare words (letters, digits, `_ . : / + -`), true, false, numbers, "quoted strings" or
// lists of these in [..]. Unknown passes and options are the user's errors.
Result<std::vector<PassCall>> parse_pipeline(std::string_view text,
                                             std::span<const Pass* const> known);

}  // namespace tessera::passes
