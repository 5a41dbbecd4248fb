// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "exec/session.h"

namespace tessera::exec {
namespace {

// Of images of a batch there are tens of millions, and a generator takes longer for them than a
// GPU for all runs: these are drawn, and follow each other again. A prime, so that rows and
// channels of any usual length differ from each other.
constexpr std::size_t kDrawn = 1'000'003;

Tensor repeated(std::vector<std::int64_t> shape, std::size_t count, const Tensor& drawn) {
  if (count <= kDrawn) return Tensor(std::move(shape), drawn.dtype, drawn.blob);
  const std::span<const std::byte> of = drawn.blob->bytes();
  const auto size = count * static_cast<std::size_t>(drawn.dtype.size_bytes());
  std::vector<std::byte> bytes;
  bytes.reserve(size);
  while (bytes.size() < size) {
    const auto some = of.first(std::min(of.size(), size - bytes.size()));
    bytes.insert(bytes.end(), some.begin(), some.end());
  }
  return Tensor(std::move(shape), drawn.dtype, Blob::adopt(std::move(bytes)));
}

Tensor draw(std::size_t count, DType dtype, std::uint64_t seed) {
  std::vector<std::int64_t> shape{static_cast<std::int64_t>(count)};
  std::mt19937_64 random(seed);
  if (dtype.is_float()) {
    std::normal_distribution<double> normal;
    std::vector<double> values(count);
    for (double& v : values) v = normal(random);
    return tensor_from_doubles(std::move(shape), dtype, values);
  }
  std::vector<std::int64_t> values(count);
  for (std::int64_t& v : values) v = static_cast<std::int64_t>(random() & 1);
  return tensor_from_ints(std::move(shape), dtype, values);
}

}  // namespace

Tensor random_input(const PortInfo& port, std::uint64_t seed) {
  std::vector<std::int64_t> shape = port.shape;
  for (std::int64_t& n : shape) n = std::max<std::int64_t>(n, n < 0 ? 1 : 0);
  std::size_t count = 1;
  for (const std::int64_t n : shape) count *= static_cast<std::size_t>(n);
  return repeated(std::move(shape), count, draw(std::min(count, kDrawn), port.dtype, seed));
}

}  // namespace tessera::exec
