// SPDX-License-Identifier: Apache-2.0
// The composite of a region, for code that describes matches.
#pragma once

#include "constants/tensor.h"
#include "relay/patterns/pattern.h"

namespace tessera::byoc {

// The body of the composite that a region of one is a call of: its nodes and its root, with its
// parameters as inputs. Nothing if the region is no such call.
std::optional<relay::Match> composite_match(const relay::Function& region,
                                            const ConstantPool& pool);

// Null for what is no constant, or one of a pool where none is given.
const Tensor* constant_of(const relay::Function& function, const ConstantPool* pool,
                          relay::NodeId id);

}  // namespace tessera::byoc
