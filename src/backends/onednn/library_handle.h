// SPDX-License-Identifier: Apache-2.0
// oneDNN in the compiler's own process, to be asked what it can do and which layouts it prefers.
#pragma once

#include <string>
#include <vector>

#include "backends/onednn/runtime/library.h"
#include "types/dtype.h"

namespace tessera::backends::onednn {

// Opened once a process, by byoc::find_library; null if there is none.
Library* compiler_library();
// Has it, on this CPU, kernels whose sums of bytes are exact (runtime/primitive.cc)?
bool library_multiplies_bytes();
// The floats that it, on this CPU, has instructions for.
std::vector<DType> library_types_of_16_bits();
// Why it is null: what was looked for, and what to install.
const std::string& compiler_library_error();
// The files that a model opens, in this order: oneDNN, after what it needs beside what every system
// has.
const std::vector<std::string>& compiler_library_files();
// Where this process has loaded one of them from, with all links resolved; "" if it has not.
std::string compiler_library_path(const std::string& file);

}  // namespace tessera::backends::onednn
