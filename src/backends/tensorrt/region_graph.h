// SPDX-License-Identifier: Apache-2.0
// From Relay to TensorRT's layers: one operator, to find out whether it can be written, or a
// region.
#pragma once

#include "backends/tensorrt/converters.h"
#include "constants/pool.h"
#include "relay/patterns/pattern.h"

namespace tessera::backends::tensorrt {

// "tensorrt.nn.conv2d"
std::string composite_name(std::string_view op);

// Why the call of an operator that was matched cannot be part of a region.
std::optional<Refusal> refusal_of(const relay::Match& match, const Target& target);

// Parameters in order; gives the tensors of the region's result.
Expected<std::vector<Value>, Refusal> write_region(const relay::Function& region,
                                                   const ConstantPool& pool, const Target& target,
                                                   Graph& out);

}  // namespace tessera::backends::tensorrt
