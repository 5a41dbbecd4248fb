// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct EinsumAttrs {
  std::string equation;  // "ij,jk->ik"; `...` stands for the dimensions that are not named
  static constexpr auto fields =
      std::tuple{relay::required_attr("equation", &EinsumAttrs::equation)};
};

}  // namespace tessera::ops
