// SPDX-License-Identifier: Apache-2.0
// Constants of float32 in a 16-bit type, and back. The largest numbers of float32 mean "no bound",
// as in masks, and become the largest of the type.
#pragma once

#include <optional>

#include "constants/tensor.h"

namespace tessera::passes {

// The first element that means something else in `dtype`: too large for it; or alone in its tensor
// and below the type's normal numbers, as the epsilon of a norm is.
std::optional<float> unrepresentable(const Tensor& t, DType dtype);
// Each element rounded to nearest even.
Tensor narrowed(const Tensor& t, DType dtype);
// A constant of a 16-bit type in float32, exactly.
Tensor widened(const Tensor& t);

}  // namespace tessera::passes
