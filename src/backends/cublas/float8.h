// SPDX-License-Identifier: Apache-2.0
// Products of floats of eight bits: those that the library multiplies, and how it is told of their
// scales.
#pragma once

#include <optional>

#include "backends/cublas/describe.h"

namespace tessera::backends::cublas {

// Vectors of scales are for devices of sm_90 alone, so that all of this is.
bool multiplies_float8(const Target& target);

// "core", a `qnn.dense_float8` whose factors and sizes `d` has, as types, sums and scales of `d`.
// Captures: "row_number" and "column_number", scales that are a constant of one number. These
// become part of `alpha`.
std::optional<relay::Refusal> describe_float8(const relay::Match& match, const Target& target,
                                              Description& d);

}  // namespace tessera::backends::cublas
