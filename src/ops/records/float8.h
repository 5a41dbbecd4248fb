// SPDX-License-Identifier: Apache-2.0
// What operators over floats of eight bits share: formats by name, scales, and both ways between
// numbers and codes as expressions.
#pragma once

#include "constants/float8.h"
#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

Result<void> expect_float8(const InferArgs& args, std::string_view format);
// Of float32, and no larger than what it scales: numpy broadcasting gives that shape.
Result<void> expect_scale_of(const InferArgs& args, std::size_t scale, const Shape& shape);

// The code, uint8, of a number in float32.
Expr float8_code(const Float8Format& format, const Expr& number, bool saturate);
// The number, float32, of a code.
Expr float8_number(const Float8Format& format, const Expr& code);

}  // namespace tessera::ops
