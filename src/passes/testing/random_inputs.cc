// SPDX-License-Identifier: Apache-2.0
#include "passes/testing/random_inputs.h"

#include "support/hash.h"

namespace tessera::passes::testing {
namespace {

using relay::NodeId;

// The mapping of splitmix64.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

Tensor random_tensor(const std::string& name, const Type& type) {
  const auto shape = constant_shape(type.shape()).value();
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  const std::uint64_t seed = hash_text(name).low;
  const double middle = name.starts_with("var") ? 1 : 0, radius = middle == 1 ? 0.5 : 1;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mixed(seed + static_cast<std::uint64_t>(i));
    const double unit = static_cast<double>(bits >> 11) / static_cast<double>(1ull << 53);
    values.push_back(type.dtype().is_float()  ? middle + radius * (2 * unit - 1)
                     : type.dtype().is_bool() ? static_cast<double>(bits % 2)
                                              : static_cast<double>(bits % 4));
  }
  return tensor_from_doubles(shape, type.dtype(), values);
}

}  // namespace

std::map<std::string, Tensor> random_inputs(const relay::Function& f) {
  std::map<std::string, Tensor> inputs;
  for (const NodeId id : f.params()) {
    const std::string& name = f.as<relay::Param>(id)->name;
    inputs.emplace(name, random_tensor(name, f.type(id)));
  }
  return inputs;
}

}  // namespace tessera::passes::testing
