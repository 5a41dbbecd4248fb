// SPDX-License-Identifier: Apache-2.0
// Runs a kernel step by step: the slow truth that emitted code is compared with. Every index is
// checked against its buffer.
#pragma once

#include <cstdint>
#include <span>

#include "tir/prim_func.h"

namespace tessera::tir {

// `buffers` are the inputs' and outputs' data, `dims` the values of the formal dimensions.
// Arithmetic in float16 and bfloat16 rounds after each operation, where emitted code computes in
// float32. Constants must be immediate.
void interpret(const PrimFunc& f, std::span<void* const> buffers,
               std::span<const std::int64_t> dims = {});

}  // namespace tessera::tir
