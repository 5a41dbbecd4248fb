// SPDX-License-Identifier: Apache-2.0
// The composite of a region, for code that describes matches.
#pragma once

#include "relay/patterns/pattern.h"

namespace tessera::byoc {

// The body of the composite that a region of one is a call of: its nodes and its root, with its
// parameters as inputs. Nothing if the region is no such call.
std::optional<relay::Match> composite_match(const relay::Function& region,
                                            const ConstantPool& pool);

}  // namespace tessera::byoc
