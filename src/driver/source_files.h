// SPDX-License-Identifier: Apache-2.0
// The files that a library is made of, for builds that make it anew when one of them changes.
#pragma once

#include <string>
#include <vector>

#include "driver/options.h"

namespace tessera::driver {

// The model, the files with its data, the records that choose, and the inputs of a calibration; in
// this order, none twice, absolute: builds read a rule in another folder. Standard input is no
// file.
Result<std::vector<std::string>> source_files(const CompileOptions& options);

// A rule for make and ninja: `output` is made of `sources`. A name with a line's end in it cannot
// stand there, and is an error.
Result<std::string> dependency_rule(const std::string& output,
                                    const std::vector<std::string>& sources);

}  // namespace tessera::driver
