// SPDX-License-Identifier: Apache-2.0
// The machine that costs of candidates are measured on, as records name it.
#pragma once

#include <string>
#include <string_view>

#include "driver/options.h"
#include "tune/record_store.h"

namespace tessera::driver {

// What keys of costs begin with, before the back end.
constexpr std::string_view kKeysOfCosts = "collage ";
// The back end in keys of algorithms of generated code.
constexpr std::string_view kNativeAlgorithms = "native";

// This machine as what is measured sees it; an error where it lacks the GPU of the targets.
Result<std::string> device_to_measure_on(const CompileOptions& options);
// Of a GPU: what the descriptions of all that the targets may mean begin with, and that of this
// machine's; "": none that they may mean is here.
std::string any_device(const CompileOptions& options);
std::string device_here(const CompileOptions& options);
// Where records of costs belong: that, or, if nothing is to be measured and the GPU that the
// targets are for is not here, the one that `records` have costs of.
Result<std::string> device_of_costs(const CompileOptions& options,
                                    const tune::RecordStore& records);

}  // namespace tessera::driver
