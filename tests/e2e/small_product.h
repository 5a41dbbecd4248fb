// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tessera::e2e {

// Rows of 13 elements: kernels of CUTLASS without TMA, which compile fastest.
inline constexpr const char* kSmallProduct = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(31, 13), float16], %w: Tensor[(7, 13), float16]) {
  nn.dense(%x, %w, units=7)
})";

}  // namespace tessera::e2e
