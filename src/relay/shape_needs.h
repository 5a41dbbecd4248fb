// SPDX-License-Identifier: Apache-2.0
// What the shape of a call's result depends on.
#pragma once

#include "relay/function.h"
#include "relay/operator.h"

namespace tessera::relay {

// What a shape function needs of an operand; of those after the record's list, their shape.
ShapeNeed shape_need_of(const Operator& op, std::size_t operand);
// A constant, or a call without operands (`sizes`): the same wherever it stands.
bool has_no_inputs(const Function& f, NodeId id);
// Is a size of one of the type's tensors `?`, which has no name either?
bool has_unknown_size(const Type& type);

}  // namespace tessera::relay
