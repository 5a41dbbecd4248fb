// SPDX-License-Identifier: Apache-2.0
// What the calls of a function compute, in operations on elements, as the records of operators say.
#pragma once

#include "relay/function.h"

namespace tessera::ops {

// Sizes that are not known count as 1.
double known_flops(const relay::Function& f);
// A formula of the sizes that are open; `?` where there is none.
Dim flops_of(const relay::Function& f);

}  // namespace tessera::ops
