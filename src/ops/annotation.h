// SPDX-License-Identifier: Apache-2.0
// Operators that mark or replace calls and compute nothing themselves.
#pragma once

#include "ops/attrs/annotation.h"
#include "ops/record.h"

namespace tessera::ops {

inline Result<Type> infer_mark(const InferArgs& args) { return args.operands[0]; }
// Is the result the operand, whatever that is?
inline bool is_mark(const Operator& op) { return op.infer == infer_mark; }

}  // namespace tessera::ops
