// SPDX-License-Identifier: Apache-2.0
// The TensorRT that a user has: headers below TENSORRT_ROOT, and the library that belongs to them.
#pragma once

#include <string>
#include <vector>

#include "relay/patterns/pattern_table.h"
#include "support/expected.h"

namespace tessera::backends::tensorrt {

struct Installation {
  std::vector<std::string> include_folders;  // TensorRT's, and the CUDA toolkit's
  std::vector<std::int64_t> version;         // 10, 3, 0
  std::string library_file;                  // "libnvinfer.so.10"
  std::string library_path;

  std::string version_text() const;  // "10.3.0"
};

// Below that folder; "": nowhere. The library is loaded, which starts nothing on the device.
Expected<Installation, relay::Refusal> find_installation(const std::string& root);

// That of the environment variable TENSORRT_ROOT, looked for once.
const Expected<Installation, relay::Refusal>& installation();

}  // namespace tessera::backends::tensorrt
