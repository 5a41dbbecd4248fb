// SPDX-License-Identifier: Apache-2.0
// What compiling makes of weights: other layouts, other types.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "constants/tensor.h"

namespace tessera {

// Large ones lie in a temporary file that goes with the blob and are mapped, like the weights that
// they are made of: the memory of a compilation does not grow with them. In memory where no such
// file can be written.
std::shared_ptr<const Blob> made_weight(std::vector<std::byte> bytes);

}  // namespace tessera
