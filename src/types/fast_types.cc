// SPDX-License-Identifier: Apache-2.0
#include "types/fast_types.h"

#include <algorithm>
#include <string_view>

#include "types/processor.h"

namespace tessera {
namespace {

constexpr DType kBoth[] = {kFloat16, kBFloat16};

struct FastTypes {
  std::string_view kind;
  std::span<const DType> types;
};
constexpr FastTypes kFastTypes[] = {{"cuda", kBoth}};

bool have_all(const Target& machine, bool (*has)(std::string_view processor)) {
  if (machine.kind().find_option("mcpu") == nullptr) return false;
  return std::ranges::all_of(processors_of(machine), has);
}

}  // namespace

std::span<const DType> fast_16_bit_types(const Target& machine) {
  const auto* found = std::ranges::find(kFastTypes, machine.name(), &FastTypes::kind);
  return found == std::end(kFastTypes) ? std::span<const DType>() : found->types;
}

std::vector<DType> fast_product_types(const Target& machine) {
  const bool has_pairs = have_all(
      machine, [](std::string_view processor) { return has_feature(processor, "avx512bf16"); });
  return has_pairs ? std::vector{kBFloat16} : std::vector<DType>();
}

bool multiplies_pairs(const Target& machine) {
  return have_all(machine, [](std::string_view processor) {
    return has_feature(processor, "avx2") && has_feature(processor, "fma");
  });
}

bool has_matrix_unit(std::string_view processor) {
  constexpr std::string_view kFeatures[] = {"amx-tile", "amx-bf16", "amx-int8", "avx512f"};
  return std::ranges::all_of(kFeatures,
                             [&](auto feature) { return has_feature(processor, feature); });
}

bool has_matrix_unit(const Target& machine) {
  return have_all(machine, [](std::string_view processor) { return has_matrix_unit(processor); });
}

}  // namespace tessera
