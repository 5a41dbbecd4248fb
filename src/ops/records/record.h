// SPDX-License-Identifier: Apache-2.0
// What every operator's file includes: the record's type, and the declaration of all records.
#pragma once

#include "ops/inference/infer.h"
#include "relay/operator.h"

namespace tessera::ops {

using relay::CostArgs;
using relay::EvalArgs;
using relay::InferArgs;
using relay::Operator;
using relay::OpPattern;
using relay::ShapeNeed;
using Samples = decltype(Operator::samples);

// `extern const Operator kSoftmax;`: its definition in softmax.cc is constexpr, so nothing runs at
// start.
#define OP(Name) extern const Operator k##Name;
#include "ops/records/ops.def"
#undef OP

}  // namespace tessera::ops
