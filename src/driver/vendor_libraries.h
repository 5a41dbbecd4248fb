// SPDX-License-Identifier: Apache-2.0
// The files of vendor libraries that a compiled module opens when it runs, as the back ends of its
// artifacts find them on this machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/host.h"
#include "link/weights.h"
#include "module/module.h"

namespace tessera::driver {

// What --bundle copies, by the files' names: with the hashes (runtime/blake2b.h) by which a library
// knows them again.
Result<std::map<std::string, emit::BundledFile>> bundled_files(const Module& module);

// Gives them places in the weights section after its `weight_bytes` bytes, each at a page's begin;
// the pieces that go there.
Result<std::vector<link::WeightPiece>> put_inside(const Module& module, std::uint64_t weight_bytes,
                                                  std::map<std::string, emit::BundledFile>& files);

// Copies them beside `output`; each appears complete or not at all.
Result<void> bundle_libraries(const Module& module, const std::string& output);

// The folders in which this machine has them, in order of their first use.
std::vector<std::string> vendor_library_folders(const Module& module);

}  // namespace tessera::driver
