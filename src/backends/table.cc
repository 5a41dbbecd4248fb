// SPDX-License-Identifier: Apache-2.0
#include "backends/table.h"

#include <array>

#define BACKEND(name)                    \
  namespace tessera::backends {          \
  const byoc::Backend& name##_backend(); \
  }
#include "backends/backends.def"

namespace tessera::backends {

std::span<const byoc::Backend* const> all_backends() {
  static const std::array table = {
#define BACKEND(name) &name##_backend(),
#include "backends/backends.def"
  };
  return table;
}

const byoc::Backend* find_backend(std::string_view name) {
  for (const byoc::Backend* backend : all_backends()) {
    if (backend->name() == name) return backend;
  }
  return nullptr;
}

}  // namespace tessera::backends
