// SPDX-License-Identifier: Apache-2.0
#include "passes/narrow_constant.h"

#include <cmath>
#include <limits>

#include "support/check.h"
#include "support/f16.h"

namespace tessera::passes {
namespace {

constexpr float kNoBound = std::numeric_limits<float>::max();

struct Range {
  float overflow;  // the smallest magnitude that rounds to infinity
  float smallest_normal;
  std::uint16_t largest;  // its bits
};

Range range_of(DType dtype) {
  if (dtype == kFloat16) return {65520.0F, 0x1p-14F, 0x7bff};
  TESSERA_CHECK(dtype == kBFloat16, "{} has no 16 bits", to_string(dtype));
  return {0x1.ffp127F, std::numeric_limits<float>::min(), 0x7f7f};
}

}  // namespace

std::optional<float> unrepresentable(const Tensor& t, DType dtype) {
  const Range range = range_of(dtype);
  const std::span<const float> values = t.as<float>();
  for (const float v : values) {
    const float magnitude = std::abs(v);
    if (magnitude >= range.overflow && magnitude < kNoBound) return v;
  }
  const bool vanishes =
      values.size() == 1 && values[0] != 0 && std::abs(values[0]) < range.smallest_normal;
  return vanishes ? std::optional(values[0]) : std::nullopt;
}

Tensor narrowed(const Tensor& t, DType dtype) {
  const std::uint16_t largest = range_of(dtype).largest;
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.num_elements()) * sizeof(std::uint16_t));
  auto* out = reinterpret_cast<std::uint16_t*>(bytes.data());
  for (const float v : t.as<float>()) {
    if (std::abs(v) == kNoBound) {
      *out++ = static_cast<std::uint16_t>(largest | (v < 0 ? 0x8000 : 0));
    } else {
      *out++ = dtype == kFloat16 ? float16_bits(v) : bfloat16_bits(v);
    }
  }
  return Tensor(t.shape, dtype, Blob::adopt(std::move(bytes)));
}

}  // namespace tessera::passes
