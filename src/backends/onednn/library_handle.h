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

// Sets the calling thread's number of OpenMP threads, which decides what the library prefers.
class ThreadCount {
 public:
  explicit ThreadCount(int threads);  // 0: leave it
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;
  ~ThreadCount();

 private:
  int before_ = 0;
};

}  // namespace tessera::backends::onednn
