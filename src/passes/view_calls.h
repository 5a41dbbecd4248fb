// SPDX-License-Identifier: Apache-2.0
// What calls of reshape, squeeze, expand_dims, transpose and strided_slice do to a view.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "passes/factored_view.h"
#include "relay/function.h"

namespace tessera::passes {

// The axes of a call of transpose, none of them negative.
std::vector<std::int64_t> permutation_of(const relay::Function& f, relay::NodeId transpose);

// Makes `view`, of such a call's operand, that of its result, whose sizes those are. Nothing for a
// slice that skips elements or does not say where it begins, and if a piece would be cut unevenly.
std::optional<FactoredView> view_after(const relay::Function& f, relay::NodeId call,
                                       const Sizes& sizes, FactoredView view);

}  // namespace tessera::passes
