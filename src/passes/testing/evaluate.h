// SPDX-License-Identifier: Apache-2.0
// For tests: whole functions, evaluated operator by operator with the reference evaluations.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::passes::testing {

// The tensors of @name's result, nested tuples flattened. Needs inferred types without unknown
// sizes.
std::vector<Tensor> evaluate(const Module& module, const std::string& name,
                             const std::vector<Tensor>& inputs);

// A tensor for each parameter, by its name: the same for the same name and type. Numbers in (-1,
// 1), or in (0.5, 1.5) where the name begins with `var`; integers in 0..3.
std::map<std::string, Tensor> random_inputs(const relay::Function& f);

// The largest difference relative to the largest magnitude of `wanted`; infinite where types or the
// places of NaNs differ.
double relative_difference(const Tensor& found, const Tensor& wanted);

}  // namespace tessera::passes::testing
