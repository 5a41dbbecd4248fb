// SPDX-License-Identifier: Apache-2.0
// --precision auto: the type of 16 bits that the machine has kernels of, if that costs no more
// accuracy than the user allows; else float32.
#pragma once

#include "driver/compile.h"

namespace tessera::driver {

// Makes the inputs of the run that is judged.
using TrialInputs = std::function<Result<std::vector<Tensor>>(exec::Session&)>;

struct AutomaticPrecision {
  double max_error = 0;     // of any output: the largest difference, of its largest magnitude
  TrialInputs inputs = {};  // random ones where it is empty
};

// The types to try, in this order; none where all of a model is computed in float32.
std::vector<DType> types_to_try(const CompileOptions& options);

// As compile(), with the precision that is chosen so: each type is tried in one run in this
// process, beside the model in float32. options.precision is not looked at.
Result<CompileReport> compile_within_error(const CompileOptions& options,
                                           const AutomaticPrecision& wanted,
                                           const Progress& progress = {});

}  // namespace tessera::driver
