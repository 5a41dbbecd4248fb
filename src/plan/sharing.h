// SPDX-License-Identifier: Apache-2.0
// Which outputs of a model may lie in the memory of which inputs: a cache that a run reads as
// `past` and writes as `present`.
#pragma once

#include <cstddef>
#include <vector>

#include "module/module.h"

namespace tessera::plan {

// For each output (as result_ports tells them) those of the first `num_inputs` inputs in whose
// memory it may lie, ascending. Their types are equal, and what the program writes there changes
// nothing that it reads afterwards. Either it has read the input by then. Or the kernel that does
// both gives each element that it takes from the input back to the same place.
std::vector<std::vector<int>> shareable_inputs(const tir::PrimFunc& main, const Module& module,
                                               std::size_t num_inputs);

// Do the kernel's stores to `output` either keep the element that `input` has at the same place, or
// not depend on `input`, and does nothing else read it? Then one memory serves both, in whatever
// order and however often the elements are computed.
bool passes_on(const tir::PrimFunc& kernel, const tir::Buffer& input, const tir::Buffer& output);

}  // namespace tessera::plan
