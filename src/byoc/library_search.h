// SPDX-License-Identifier: Apache-2.0
// Where vendor libraries are on the machine that compiles.
#pragma once

#include <string>

namespace tessera::byoc {

// The path of `file`: in a directory of TESSERA_LIBRARY_PATH, at `at_build` (where the build found
// it; may be ""), or where the system finds it. "" if it is nowhere or does not load.
std::string find_library(const std::string& file, const std::string& at_build);

}  // namespace tessera::byoc
