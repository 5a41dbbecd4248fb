// SPDX-License-Identifier: Apache-2.0
#include "driver/options.h"

namespace tessera::driver {

Target host_target(const std::vector<Target>& targets) {
  for (const Target& t : targets) {
    if (t.name() == "cpu") return t;
  }
  return Target();
}

}  // namespace tessera::driver
