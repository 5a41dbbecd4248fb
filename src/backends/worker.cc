// SPDX-License-Identifier: Apache-2.0
#include "backends/worker.h"

#define WORKER(name)                    \
  namespace tessera::backends {         \
  void name##_work(const std::string&); \
  }
#include "backends/backends.def"

namespace tessera::backends {

Worker find_worker([[maybe_unused]] std::string_view back_end) {
#define WORKER(name) \
  if (back_end == #name) return name##_work;
#include "backends/backends.def"
  return nullptr;
}

}  // namespace tessera::backends
