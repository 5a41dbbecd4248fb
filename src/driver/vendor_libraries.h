// SPDX-License-Identifier: Apache-2.0
// The files of vendor libraries that a compiled module opens when it runs, as the back ends of its
// artifacts find them on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "module/module.h"

namespace tessera::driver {

// What --bundle copies: the files' names, and the hashes (runtime/blake2b.h) by which a library
// knows them again.
Result<std::map<std::string, std::string>> bundled_hashes(const Module& module);

// Copies them beside `output`; each appears complete or not at all.
Result<void> bundle_libraries(const Module& module, const std::string& output);

// The folders in which this machine has them, in order of their first use.
std::vector<std::string> vendor_library_folders(const Module& module);
// The first one; "" if there is none.
std::string vendor_library_folder(const Module& module);

}  // namespace tessera::driver
