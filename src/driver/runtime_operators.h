// SPDX-License-Identifier: Apache-2.0
// Operators that are functions of src/runtime/operators (`Operator::runtime_symbol`): sorting, and
// what no loop nest can express. They are placed and called as a back end's regions are, but
// always, after all back ends, and with every partitioning: they are part of what tessera itself
// runs.
#pragma once

#include "byoc/backend.h"

namespace tessera::driver {

// `on_gpu`: what the model is compiled for. Scattering is left to loops there.
const byoc::Backend& runtime_operators(bool on_gpu);
bool is_runtime_operators(const byoc::Backend& backend);

// Functions of the runtime take each operand by itself: a value that an operator without a loop
// definition is given twice is copied for the second place, which costs nothing.
Module with_distinct_operands(Module module);

}  // namespace tessera::driver
