// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "exec/session.h"

namespace tessera::exec {

Tensor random_input(const PortInfo& port, std::uint64_t seed) {
  std::vector<std::int64_t> shape = port.shape;
  for (std::int64_t& n : shape) n = std::max<std::int64_t>(n, n < 0 ? 1 : 0);
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  std::mt19937_64 random(seed);
  if (port.dtype.is_float()) {
    std::normal_distribution<double> normal;
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double& v : values) v = normal(random);
    return tensor_from_doubles(std::move(shape), port.dtype, values);
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t& v : values) v = static_cast<std::int64_t>(random() & 1);
  return tensor_from_ints(std::move(shape), port.dtype, values);
}

}  // namespace tessera::exec
