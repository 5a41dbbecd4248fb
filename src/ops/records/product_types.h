// SPDX-License-Identifier: Apache-2.0
// The types of what is multiplied and summed.
#pragma once

#include "ops/inference/infer.h"

namespace tessera::ops {

// They may differ in width, but the sum of floats and integers is of neither kind.
inline Result<void> expect_one_kind(const relay::InferArgs& args) {
  const DType a = args.operands[0].dtype(), b = args.operands[1].dtype();
  if (a.is_float() == b.is_float()) return {};
  return refuse(args, Code::kDtypeMismatch, "multiplies {} and {}; both are floats, or none is",
                to_string(a), to_string(b));
}

}  // namespace tessera::ops
