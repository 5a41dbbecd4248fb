// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "byoc/passes.h"

namespace tessera::byoc {

#define PASS(name) extern const passes::Pass name;
#include "byoc/passes.def"
#undef PASS

std::span<const passes::Pass* const> all_passes() {
  static const std::vector<const passes::Pass*> list = {
#define PASS(name) &name,
#include "byoc/passes.def"
#undef PASS
  };
  return list;
}

}  // namespace tessera::byoc
