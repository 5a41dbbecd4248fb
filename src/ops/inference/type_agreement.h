// SPDX-License-Identifier: Apache-2.0
// When two types may stand for the same value, and what is then known; for type inference.
#pragma once

#include <optional>
#include <span>

#include "diagnostics/diagnostic.h"
#include "relay/operator.h"
#include "types/type.h"

namespace tessera::ops {

// What both are: `?` where sizes are not provably equal. Needs compatible types.
Type common_type(const Type& a, const Type& b);
// The better known sizes of compatible types; `annotation` may be missing.
Type refined_type(const Type& annotation, const Type& found);
// Number and kind of an operator's operands.
std::optional<Diagnostic> wrong_operands(const relay::Operator& op, std::span<const Type> types,
                                         const Location& at);

}  // namespace tessera::ops
