// SPDX-License-Identifier: Apache-2.0
// Inputs that a model can be tried with when nobody gave any.
#pragma once

#include "driver/build.h"
#include "exec/session.h"

namespace tessera::driver {

struct RunInputs {
  std::vector<Tensor> inputs, outputs;
};

// One run with random inputs of the likely sizes. Where an index of them leads out of a tensor,
// integers are zero: that is an index wherever there is one.
Result<RunInputs> run_with_random_inputs(exec::Session& session, const Lowered& lowered);

}  // namespace tessera::driver
