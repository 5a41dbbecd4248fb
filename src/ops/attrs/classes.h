// SPDX-License-Identifier: Apache-2.0
// Attributes of operators on scores of classes.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct PairwiseCouplingAttrs {
  std::int64_t classes = 2;
  static constexpr auto fields =
      std::tuple{relay::required_attr("classes", &PairwiseCouplingAttrs::classes)};
};

}  // namespace tessera::ops
