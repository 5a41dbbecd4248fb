// SPDX-License-Identifier: Apache-2.0
// Reads a library as a file: nothing of it is loaded or executed, so it may be for another machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"

namespace tessera::link {

struct LibraryFile {
  std::string metadata;               // JSON, what stands at `tessera_metadata`
  std::vector<std::string> needed;    // DT_NEEDED
  std::vector<std::string> exported;  // names of defined dynamic symbols, sorted
  std::uint64_t weights_bytes = 0;    // size of the weights section
};

// An error if it is not a 64-bit ELF library that tessera made.
Result<LibraryFile> read_library_file(const std::string& path);

}  // namespace tessera::link
