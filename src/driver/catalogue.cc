// SPDX-License-Identifier: Apache-2.0
#include "driver/catalogue.h"

#include <vector>

#include "byoc/passes.h"
#include "collage/passes.h"
#include "lower/passes.h"
#include "plan/passes.h"

namespace tessera::driver {

std::span<const passes::Pass* const> pass_catalogue() {
  static const std::vector<const passes::Pass*> all = [] {
    std::vector<const passes::Pass*> list;
    for (const auto folder : {passes::all_passes(), byoc::all_passes(), collage::all_passes(),
                              lower::all_passes(), plan::all_passes()}) {
      list.insert(list.end(), folder.begin(), folder.end());
    }
    return list;
  }();
  return all;
}

}  // namespace tessera::driver
