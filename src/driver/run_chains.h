// SPDX-License-Identifier: Apache-2.0
// Programs that compute next to nothing: by their times a run is told from the kernels in it.
#pragma once

#include <span>

#include "driver/entry_file.h"
#include "driver/options.h"

namespace tessera::driver {

// An entry for each length, in their order by name: so many generated kernels, one after another.
Result<EntryFile> chain_library(std::span<const int> lengths, const CompileOptions& options,
                                const MachineCode& code, link::Toolchain& toolchain);

}  // namespace tessera::driver
