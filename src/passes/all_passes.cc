// SPDX-License-Identifier: Apache-2.0
#include "passes/pass.h"

namespace tessera::passes {

#define PASS(name) extern const Pass name;
#include "passes/passes.def"
#undef PASS

std::span<const Pass* const> all_passes() {
  static constexpr const Pass* kPasses[] = {
#define PASS(name) &name,
#include "passes/passes.def"
#undef PASS
  };
  return kPasses;
}

}  // namespace tessera::passes
