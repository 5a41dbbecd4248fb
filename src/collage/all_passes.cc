// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "collage/passes.h"

namespace tessera::collage {

#define PASS(name) extern const passes::Pass name;
#include "collage/passes.def"
#undef PASS

std::span<const passes::Pass* const> all_passes() {
  static const std::vector<const passes::Pass*> list = {
#define PASS(name) &name,
#include "collage/passes.def"
#undef PASS
  };
  return list;
}

}  // namespace tessera::collage
