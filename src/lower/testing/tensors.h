// SPDX-License-Identifier: Apache-2.0
// Operands of tests.
#pragma once

#include <vector>

#include "constants/tensor.h"

namespace tessera::lower::testing {

inline Tensor floats(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  return tensor_from_doubles(std::move(shape), kFloat32, values);
}
inline Tensor numbers(std::vector<std::int64_t> shape, const std::vector<std::int64_t>& values) {
  return tensor_from_ints(std::move(shape), kInt64, values);
}
inline Tensor truth(bool value) {
  return tensor_from_ints({}, kBool, std::vector<std::int64_t>{value});
}

}  // namespace tessera::lower::testing
