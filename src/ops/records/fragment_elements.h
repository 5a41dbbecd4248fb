// SPDX-License-Identifier: Apache-2.0
// Elements of matrices in the order of tir/fragments.h, as loops read them.
#pragma once

#include "ops/attrs/quantize.h"
#include "ops/records/definition.h"

namespace tessera::ops {

// (q[k, column] - zero_point) * scale in float32, of the operands from `first` on.
Expr fragment_element(const ComputeArgs& args, const BlockColumnsAttrs& p, std::size_t first,
                      const Expr& k, const Expr& column);

}  // namespace tessera::ops
