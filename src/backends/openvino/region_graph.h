// SPDX-License-Identifier: Apache-2.0
// From Relay to OpenVINO's graph: one operator, to find out whether it can be written, or a region.
#pragma once

#include "backends/openvino/converters.h"
#include "constants/pool.h"
#include "relay/patterns/pattern.h"

namespace tessera::backends::openvino {

// Why the call of an operator, or the field of its result, that was matched cannot be part of a
// region. Without a reason: a field of a result that cannot, or of another tuple.
std::optional<Refusal> refusal_of(const relay::Match& match);

// Parameters in order, and a result for each tensor of the region's.
Expected<void, Refusal> write_region(const relay::Function& region, const ConstantPool& pool,
                                     IrWriter& out);

}  // namespace tessera::backends::openvino
