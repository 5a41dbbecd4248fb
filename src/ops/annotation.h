// SPDX-License-Identifier: Apache-2.0
// Operators that mark or replace calls and compute nothing themselves.
#pragma once

#include "ops/attrs/annotation.h"
#include "ops/record.h"

namespace tessera::ops {

inline Result<Type> infer_mark(const InferArgs& args) { return args.operands[0]; }

}  // namespace tessera::ops
