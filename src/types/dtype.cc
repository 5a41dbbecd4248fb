// SPDX-License-Identifier: Apache-2.0
#include "types/dtype.h"

#include <charconv>

#include <fmt/format.h>

namespace tessera {
namespace {

struct Family {
  std::string_view name;
  TypeCode code;
  std::uint64_t widths;  // bit n-1: width n exists
};
constexpr std::uint64_t width(int bits) { return 1ull << (bits - 1); }
constexpr std::uint64_t kIntWidths = width(4) | width(8) | width(16) | width(32) | width(64);
constexpr Family kFamilies[] = {
    {"int", TypeCode::kInt, kIntWidths},
    {"uint", TypeCode::kUInt, kIntWidths},
    {"float", TypeCode::kFloat, width(16) | width(32) | width(64)},
    {"bfloat", TypeCode::kBFloat, width(16)},
};

// Takes a decimal number without leading zeros off the front.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || text.front() == '0' || text.front() == '-') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<DType> take_element(std::string_view& text) {
  if (text.starts_with("bool")) return text.remove_prefix(4), kBool;
  if (text.starts_with("handle")) return text.remove_prefix(6), DType{TypeCode::kHandle, 64, 1};
  for (const auto& family : kFamilies) {
    if (!text.starts_with(family.name)) continue;
    text.remove_prefix(family.name.size());
    if (text.empty()) return std::nullopt;
    const auto bits = take_number(text);
    if (!bits) return std::nullopt;
    if (family.code == TypeCode::kUInt && *bits == 1) return kBool;
    if (*bits > 64 || (family.widths & width(*bits)) == 0) return std::nullopt;
    return DType{family.code, static_cast<std::uint8_t>(*bits), 1};
  }
  return std::nullopt;
}

}  // namespace

std::string to_string(DType dtype) {
  std::string text;
  if (dtype.is_bool()) {
    text = dtype.lanes == 1 ? "bool" : "uint1";  // a vector of booleans is written `uint1x4`
  } else if (dtype.code == TypeCode::kHandle) {
    text = "handle";
  } else {
    for (const auto& family : kFamilies) {
      if (family.code == dtype.code) text = fmt::format("{}{}", family.name, dtype.bits);
    }
  }
  if (dtype.lanes != 1) text += fmt::format("x{}", dtype.lanes);
  return text;
}

std::optional<DType> parse_dtype(std::string_view text) {
  const auto element = take_element(text);
  if (!element || text.empty()) return element;
  if (text.front() != 'x' || text.size() == 1) return std::nullopt;
  text.remove_prefix(1);
  const auto lanes = take_number(text);
  if (!lanes || *lanes < 2 || *lanes > 0xffff || !text.empty()) return std::nullopt;
  return element->with_lanes(*lanes);
}

}  // namespace tessera
