// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "tir/buffer.h"

namespace tessera::emit {

// Where an element lies, in elements from the buffer's first, by its strides.
tir::Expr flat_offset(const tir::Buffer& buffer, const std::vector<tir::Expr>& indices);

}  // namespace tessera::emit
