// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tir/prim_func.h"

namespace tessera::plan {

// What the model's file calls a symbol of its program, for whom messages are read by.
std::string name_in_model(const tir::PrimFunc& main, const std::string& symbol);

}  // namespace tessera::plan
