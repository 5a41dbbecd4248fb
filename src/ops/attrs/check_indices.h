// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

// One axis for all indices; or one for each slice of their first dimension (tuples, as
// gather_nd's).
struct CheckIndicesAttrs {
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> sizes;  // of the axes, where no tensor is given
  static constexpr auto fields = std::tuple{relay::required_attr("axes", &CheckIndicesAttrs::axes),
                                            relay::attr("sizes", &CheckIndicesAttrs::sizes)};
};

}  // namespace tessera::ops
