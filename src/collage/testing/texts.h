// SPDX-License-Identifier: Apache-2.0
// For tests: graphs that several of them look at, with the indices of their nodes.
#pragma once

#include <vector>

#include "constants/tensor.h"

namespace tessera::collage::testing {

// abs at 3, nn.relu at 4 and 5.
inline constexpr const char* kChain = R"(
def @main(%x: Tensor[(10, 10), float32]) {
  %0 = abs(%x);
  %1 = nn.relu(%0);
  nn.relu(%1)
})";

// A linear layer and its approximate GELU: calls at 6, 8, 9, 11, 15, 17, 18, 20, 21, 23 and 24,
// where 9 is a reshape that 11, 15 and 18 read; tensor constants at 5 and 7.
inline constexpr const char* kLinearGelu = R"(
def @main(%x: Tensor[(4, 8), float32]) {
  %0 = nn.dense(%x, meta[relay.Constant][0], units=8);
  %1 = add(%0, meta[relay.Constant][1]);
  %2 = reshape(%1, newshape=[2, 2, 8]);
  %3 = multiply(%2, 0.5f);
  %4 = power(%2, 3f);
  %5 = multiply(%4, 0.044715f);
  %6 = add(%2, %5);
  %7 = multiply(%6, 0.797885f);
  %8 = tanh(%7);
  %9 = add(%8, 1f);
  multiply(%3, %9)
})";
inline std::vector<Tensor> linear_gelu_constants() {
  return {Tensor::of({8, 8}, kFloat32, std::vector<float>(64, 0.5f)),
          Tensor::of({8}, kFloat32, std::vector<float>(8, 0.25f))};
}

// Two halves, each through three operators, put together again: split at 6 with projections at 7
// and 11, calls at 8, 9, 10 and 12, 13, 14, the tuple at 15, concatenate at 16.
inline constexpr const char* kHalves = R"(
def @main(%x: Tensor[(10, 10), float32]) {
  %0 = split(%x, indices_or_sections=2);
  %1 = %0.0;
  %2 = abs(%1);
  %3 = nn.relu(%2);
  %4 = tanh(%3);
  %5 = %0.1;
  %6 = abs(%5);
  %7 = nn.relu(%6);
  %8 = tanh(%7);
  %9 = (%4, %8);
  concatenate(%9)
})";

}  // namespace tessera::collage::testing
