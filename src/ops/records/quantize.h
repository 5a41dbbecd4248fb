// SPDX-License-Identifier: Apache-2.0
// Scale and zero point of quantised tensors: scalars, or one a slice of `axis`.
#pragma once

#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

Result<void> expect_quantization_parameters(const InferArgs& args, std::int64_t axis);
// The parameter of the slice that index i lies in.
Expr parameter_at(const TensorExpr& parameter, const Indices& i, std::int64_t axis);
double parameter_at(const Elements<double>& parameter, const Counter& i, std::int64_t axis);

}  // namespace tessera::ops
