// SPDX-License-Identifier: Apache-2.0
#include "lower/passes.h"

namespace tessera::lower {

#define PASS(name) extern const passes::Pass name;
#include "lower/passes.def"
#undef PASS

std::span<const passes::Pass* const> all_passes() {
  static constexpr const passes::Pass* kPasses[] = {
#define PASS(name) &name,
#include "lower/passes.def"
#undef PASS
  };
  return kPasses;
}

}  // namespace tessera::lower
