// SPDX-License-Identifier: Apache-2.0
// Floats packed without loss, as runtime/lossless/format.h says.
#pragma once

#include "constants/tensor.h"

namespace tessera {

// Types whose exponents are packed.
bool can_be_packed(DType dtype);

// The packed form of the bytes of a tensor of such a type; null: it would not be smaller by one
// part in 20. The same bytes give the same form.
std::shared_ptr<const Blob> packed_without_loss(std::span<const std::byte> bytes, DType dtype);

}  // namespace tessera
