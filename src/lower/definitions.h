// SPDX-License-Identifier: Apache-2.0
// A region of the graph as tensor definitions: each operator's `compute`, in order.
#pragma once

#include <string>
#include <vector>

#include "constants/pool.h"
#include "relay/function.h"
#include "tir/dim_vars.h"
#include "tir/tensor_expr.h"

namespace tessera::lower {

struct Definitions {
  std::vector<tir::TensorExpr> inputs;   // one a tensor of the parameters, tuples flattened
  std::vector<tir::TensorExpr> outputs;  // of the result, likewise
  tir::DimVars dims;                     // inputs' sizes first, then outputs', then those between
  std::vector<std::string> operators;    // names, in order of the calls
  std::vector<Location> sources;
};

// `region` is a function's body or the body of a literal without captures; types must be known, and
// sizes that are no numbers have names. Fails on what only a back end could run.
Result<Definitions> define_region(const relay::Function& f, relay::RegionId region,
                                  const ConstantPool& pool);

}  // namespace tessera::lower
