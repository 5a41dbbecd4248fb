// SPDX-License-Identifier: Apache-2.0
// Symbols of generated kernels, which parse back:
//
//   k<number>_<operators joined by _>__<dtype>_<sizes of the first output joined by x>__native
//   k03_softmax__f32_12x128x128__native
//   k04_softmax__f32_12xnxn__native           n: a size that is known at run time
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "types/type.h"

namespace tessera::lower {

struct KernelName {
  int number = 0;
  std::vector<std::string>
      operators;      // without `nn.`; the last ones are left out where there are many
  std::string dtype;  // "f32"
  std::vector<std::int64_t> shape;  // -1: known at run time
};

std::string kernel_symbol(int number, const std::vector<std::string>& operators, DType dtype,
                          const std::vector<std::int64_t>& shape);
std::optional<KernelName> parse_kernel_symbol(std::string_view symbol);

}  // namespace tessera::lower
