// SPDX-License-Identifier: Apache-2.0
// Programs that are cut out of a model with open sizes, and run by themselves. A run reads sizes
// off the inputs' shapes; a part may compute with sizes of the model that none of its inputs has.
#pragma once

#include "relay/function.h"

namespace tessera::driver {

// The same function with one more parameter, of bytes that nothing reads, for each symbol that
// occurs in it and that no parameter has as a size by itself: `Tensor[(symbol,), uint8]`, in the
// order of their names, behind the others. Types are inferred, and no parameter is a tuple.
relay::Function with_size_params(const relay::Function& program);

// Has a parameter sizes that data decide, `?`? Nobody could say what to run such a program with.
bool has_nameless_sizes(const relay::Function& program);

}  // namespace tessera::driver
