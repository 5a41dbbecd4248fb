// SPDX-License-Identifier: Apache-2.0
#include "plan/passes.h"

namespace tessera::plan {

#define PASS(name) extern const passes::Pass name;
#include "plan/passes.def"
#undef PASS

std::span<const passes::Pass* const> all_passes() {
  static constexpr const passes::Pass* kPasses[] = {
#define PASS(name) &name,
#include "plan/passes.def"
#undef PASS
  };
  return kPasses;
}

}  // namespace tessera::plan
