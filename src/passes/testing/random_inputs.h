// SPDX-License-Identifier: Apache-2.0
// For tests: something to evaluate functions on.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::passes::testing {

// A tensor for each parameter, by its name: the same for the same name and type. Numbers in (-1,
// 1), or in (0.5, 1.5) where the name begins with `var`; integers in 0..3.
std::map<std::string, Tensor> random_inputs(const relay::Function& f);

}  // namespace tessera::passes::testing
