// SPDX-License-Identifier: Apache-2.0
#include "passes/narrow_constant.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "constants/made_weight.h"
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

// Calls `visit` with spans of the elements in order, until it returns false. The bytes of a model's
// file lie anywhere and are not wanted again.
template <class T, class F>
void for_each_part(const Tensor& t, F visit) {
  TESSERA_CHECK(t.dtype.size_bytes() == sizeof(T), "a constant of {}", to_string(t.dtype));
  std::array<T, 4096> part;
  auto rest = t.blob->bytes();
  for (bool goes_on = true; goes_on && !rest.empty();) {
    const std::size_t size = std::min(rest.size(), sizeof(part));
    std::memcpy(part.data(), rest.data(), size);
    goes_on = visit(std::span<const T>(part.data(), size / sizeof(T)));
    rest = rest.subspan(size);
  }
  t.blob->release_pages();
}

// Has any of the elements a magnitude in [low, high)? Bits of magnitudes are in their order.
bool any_within(std::span<const float> part, float low, float high) {
  const auto first = std::bit_cast<std::uint32_t>(low);
  const std::uint32_t count = std::bit_cast<std::uint32_t>(high) - first;
  const auto is_within = [&](float v) {
    return (std::bit_cast<std::uint32_t>(v) & 0x7fffffff) - first < count;
  };
  constexpr std::size_t kBlock = 32;  // of a fixed length: a loop over vectors
  std::size_t i = 0;
  for (; i + kBlock <= part.size(); i += kBlock) {
    std::uint32_t found = 0;
    for (std::size_t j = 0; j < kBlock; ++j) found |= is_within(part[i + j]) ? 1 : 0;
    if (found != 0) return true;
  }
  return std::ranges::any_of(part.subspan(i), is_within);
}

}  // namespace

std::optional<float> unrepresentable(const Tensor& t, DType dtype) {
  const Range range = range_of(dtype);
  const bool is_alone = t.num_elements() == 1;
  std::optional<float> found;
  for_each_part<float>(t, [&](std::span<const float> part) {
    if (!is_alone && !any_within(part, range.overflow, kNoBound)) return true;
    const auto bad = std::ranges::find_if(part, [&](float v) {
      const float magnitude = std::abs(v);
      const bool vanishes = is_alone && v != 0 && magnitude < range.smallest_normal;
      return vanishes || (magnitude >= range.overflow && magnitude < kNoBound);
    });
    if (bad != part.end()) found = *bad;
    return !found;
  });
  return found;
}

Tensor narrowed(const Tensor& t, DType dtype) {
  const std::uint16_t largest = range_of(dtype).largest;
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.num_elements()) * sizeof(std::uint16_t));
  auto* out = reinterpret_cast<std::uint16_t*>(bytes.data());
  for_each_part<float>(t, [&](std::span<const float> part) {
    dtype == kFloat16 ? to_float16(part, out) : to_bfloat16(part, out);
    const bool has_bounds = any_within(part, kNoBound, std::numeric_limits<float>::infinity());
    for (std::size_t i = 0; has_bounds && i < part.size(); ++i) {
      if (std::abs(part[i]) != kNoBound) continue;
      out[i] = static_cast<std::uint16_t>(largest | (part[i] < 0 ? 0x8000 : 0));
    }
    out += part.size();
    return true;
  });
  return Tensor(t.shape, dtype, made_weight(std::move(bytes)));
}

Tensor widened(const Tensor& t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.num_elements()) * sizeof(float));
  auto* out = reinterpret_cast<float*>(bytes.data());
  for_each_part<std::uint16_t>(t, [&](std::span<const std::uint16_t> part) {
    for (const std::uint16_t v : part) {
      *out++ = t.dtype == kFloat16 ? float16_value(v) : bfloat16_value(v);
    }
    return true;
  });
  return Tensor(t.shape, kFloat32, made_weight(std::move(bytes)));
}

}  // namespace tessera::passes
