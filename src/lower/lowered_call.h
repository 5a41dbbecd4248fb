// SPDX-License-Identifier: Apache-2.0
// The one form of calls in a lowered module: `call_lowered(@symbol, (arguments), metadata=...)`.
#pragma once

#include <string>

#include "relay/operator.h"
#include "relay/rewrite.h"

namespace tessera::lower {

// Loop functions take and give tensors: tuples are passed field by field and put together from the
// results. Others are given what the call gave.
enum class Passing { kFlat, kAsIs };

// What stands for the call `id` of a function with `attrs`. `call_lowered` is that operator.
relay::NodeId lowered_call(relay::Copier& c, const relay::Operator& call_lowered, relay::NodeId id,
                           const std::string& symbol, const relay::Attrs& attrs,
                           relay::Attrs metadata, Passing passing);

}  // namespace tessera::lower
