// SPDX-License-Identifier: Apache-2.0
// Memory that two tensors of a run have in common: legal where the model says so, else an error
// before anything is written.
#pragma once

#include "runtime/instance.h"

namespace tessera::runtime {

// Checks the outputs, wherever they are going to lie, against the inputs, each other, weights that
// were set and the instance's pools; and inputs against the pools. What lies in its place there is
// none of them. `shapes`: of all outputs, one after the other, -1 where they depend on data. What
// the run before was given is not compared again. A status.
std::int32_t check_overlaps(tessera_instance& instance, const tessera_tensor* inputs,
                            const tessera_tensor* outputs, const std::int64_t* shapes);

}  // namespace tessera::runtime
