// SPDX-License-Identifier: Apache-2.0
// oneDNN in the compiler's own process, to be asked what it can do and which layouts it prefers.
#pragma once

#include <string>

#include "backends/onednn/runtime/library.h"

namespace tessera::backends::onednn {

// Opened once a process, by byoc::find_library; null if there is none.
Library* compiler_library();
// Why it is null: what was looked for, and what to install.
const std::string& compiler_library_error();
// The file that was opened, with all links resolved; "" if it is null.
const std::string& compiler_library_path();

}  // namespace tessera::backends::onednn
