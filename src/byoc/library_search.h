// SPDX-License-Identifier: Apache-2.0
// Where vendor libraries are on the machine that compiles.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace tessera::byoc {

// The path of `file`: in a directory of TESSERA_LIBRARY_PATH, at `at_build` (where the build found
// it; may be ""), or where the system finds it. "" if it is nowhere or does not load. `beside`:
// libraries that some builds of it need, in the order in which they can be loaded; those that lie
// beside it are loaded before.
std::string find_library(const std::string& file, const std::string& at_build,
                         std::span<const char* const> beside = {});

// The path of a library that this process has loaded, or "".
std::string loaded_library(const std::string& file);

// The files that a library of this process names as needed (DT_NEEDED).
std::vector<std::string> needed_files(void* library);

}  // namespace tessera::byoc
