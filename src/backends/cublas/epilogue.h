// SPDX-License-Identifier: Apache-2.0
// What follows a product in its composite, as the library's epilogue.
#pragma once

#include <optional>

#include "backends/cublas/describe.h"

namespace tessera::backends::cublas {

// `d` has the product's types. Captures: "alpha" or "divisor", a constant that the product is
// multiplied or divided by; "first" and "second", what is added to it; "bias_add", where that is
// one; "relu"; of GELU "gelu_erf" and "gelu_tanh", the operators, "tanh_form" with "half", "one",
// "slope", "cubic" and "exponent", or "erf_form" with those of relay::erf_gelu; "cast" and
// "narrow", where the type changes.
std::optional<relay::Refusal> describe_epilogue(const relay::Match& match, const Target& target,
                                                Description& d);

}  // namespace tessera::backends::cublas
