// SPDX-License-Identifier: Apache-2.0
#include "types/fast_types.h"

#include <algorithm>
#include <string_view>

namespace tessera {
namespace {

constexpr DType kBoth[] = {kFloat16, kBFloat16};

struct FastTypes {
  std::string_view kind;
  std::span<const DType> types;
};
constexpr FastTypes kFastTypes[] = {{"cuda", kBoth}};

}  // namespace

std::span<const DType> fast_16_bit_types(const Target& machine) {
  const auto* found = std::ranges::find(kFastTypes, machine.name(), &FastTypes::kind);
  return found == std::end(kFastTypes) ? std::span<const DType>() : found->types;
}

}  // namespace tessera
