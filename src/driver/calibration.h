// SPDX-License-Identifier: Apache-2.0
// --calibrate FOLDER: what a model computes of inputs as they occur. Each .npz of the folder is one
// run, with an array for each input by its name; .npy files, NAME.npy for each input, are one more.
#pragma once

#include <string>
#include <vector>

#include "driver/options.h"
#include "module/module.h"

namespace tessera::driver {

// What a calibration reads of the folder, by name.
Result<std::vector<std::string>> calibration_files(const std::string& folder);

// The greatest of each number that `main` gives, over the runs of options.calibrate, in float32 on
// this machine's CPU. NaN where one is.
Result<std::vector<double>> greatest_results(Module module, const CompileOptions& options);

}  // namespace tessera::driver
