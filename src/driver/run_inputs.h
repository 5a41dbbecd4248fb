// SPDX-License-Identifier: Apache-2.0
// Inputs that a model can be tried with when nobody gave any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "exec/session.h"

namespace tessera::driver {

struct RunInputs {
  std::vector<Tensor> inputs, outputs;
};

// One run with random inputs of these sizes (likely_input_shapes). Where an index of them leads out
// of a tensor, integers are zero: that is an index wherever there is one.
Result<RunInputs> run_with_random_inputs(exec::Session& session,
                                         const std::vector<std::vector<std::int64_t>>& shapes);

// Where outputs of a measured program are further from those of another one, `whose`, than floats
// may be, relative to the largest; "" where they are not.
std::string wrong_numbers(const std::vector<Tensor>& found, const std::vector<Tensor>& wanted,
                          double tolerance, std::string_view whose);

}  // namespace tessera::driver
