// SPDX-License-Identifier: Apache-2.0
// The table of all operators: ops.def made searchable.
#pragma once

#include <string_view>

#include "relay/operator.h"

namespace tessera::ops {

const relay::OperatorTable& operators();
// The operator of that name, which must exist: for passes and importers, not for names that users
// give.
const relay::Operator& op(std::string_view name);

}  // namespace tessera::ops
