// SPDX-License-Identifier: Apache-2.0
// The order of the calls of a host program.
#pragma once

#include "module/module.h"

namespace tessera::plan {

// `main` with its calls in an order in which fewer bytes live at once, where the graph leaves the
// choice and that saves more than 1 %. Nothing goes over a statement that is more than a call, or
// over a check. Outputs that may lie in the memory of inputs still may.
tir::PrimFunc with_least_alive(const tir::PrimFunc& main, const Module& module);

}  // namespace tessera::plan
