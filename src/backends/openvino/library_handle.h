// SPDX-License-Identifier: Apache-2.0
// OpenVINO in the compiler's own process: found, and its functions. Nothing is computed here, as
// engine.h says.
#pragma once

#include <string>
#include <vector>

#include "backends/openvino/runtime/api.h"

namespace tessera::backends::openvino {

// Opened once a process, by byoc::find_library; null if there is none.
const Api* compiler_library();
// Why it is null: what was looked for, and what to install.
const std::string& compiler_library_error();
// The files that a model opens, in this order.
const std::vector<std::string>& compiler_library_files();
// Where they are, with all links resolved; "" for others.
std::string compiler_library_path(const std::string& file);

}  // namespace tessera::backends::openvino
