// SPDX-License-Identifier: Apache-2.0
// Which graphs are attention, as composites of a back end: with what makes heads before it, masks
// and scale in between, and what merges the heads after it.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "relay/patterns/pattern_table.h"

namespace tessera::attention {

using Check = std::function<std::optional<relay::Refusal>(const relay::Match&, const Target&)>;

// "BACKEND.causal_attention_merged" and so on, those of more operators first.
std::vector<relay::CompositePattern> patterns(std::string_view back_end, const Check& check);

}  // namespace tessera::attention
