// SPDX-License-Identifier: Apache-2.0
#include "driver/catalogue.h"

namespace tessera::driver {

std::span<const passes::Pass* const> pass_catalogue() { return passes::all_passes(); }

}  // namespace tessera::driver
