// SPDX-License-Identifier: Apache-2.0
// Operators that keep the row-major order of the elements: reshape, expand_dims, squeeze, flatten.
#pragma once

#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {

// The index into `from` of the element that has index `at` in `to`: the two hold equally many. Runs
// of dimensions whose products agree are mapped by themselves, so that few divisions remain.
Indices reshaped_index(const std::vector<Expr>& from, const std::vector<Expr>& to,
                       const Indices& at);

std::vector<Tensor> eval_reshape(const EvalArgs& args);
Definitions compute_reshape(const ComputeArgs& args);

}  // namespace tessera::ops
