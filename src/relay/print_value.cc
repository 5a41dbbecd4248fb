// SPDX-License-Identifier: Apache-2.0
#include "relay/print_value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "relay/words.h"
#include "support/quoted_text.h"

namespace tessera::relay {

namespace {

// The fewest digits that read back as the same number, laid out as `%g` does.
template <class T>
std::string float_text(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char text[64];
  const auto print = [&](std::chars_format format) {
    const auto end = std::to_chars(text, text + sizeof text, value, format).ptr;
    return std::string(text, end);
  };
  std::string scientific = print(std::chars_format::scientific);
  const auto e = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(e + 1));
  const auto digits = std::count_if(scientific.begin(),
                                    scientific.begin() + static_cast<std::ptrdiff_t>(e), is_digit);
  const bool fits = exponent >= -4 && exponent < std::max<std::ptrdiff_t>(6, digits);
  return fits ? print(std::chars_format::fixed) : scientific;
}

std::string float16_text(const Tensor& t) {
  const double value = element_as_double(t, 0);
  // The shortest decimal that rounds to the same half; five digits always do.
  for (int digits = 1; digits < 6 && std::isfinite(value); ++digits) {
    const double read = std::stod(fmt::format("{:.{}g}", value, digits));
    if (tensor_from_doubles({}, kFloat16, std::span(&read, 1)) == t) return float_text(read);
  }
  return float_text(value);
}

std::optional<std::string> float_literal(const Tensor& t) {
  if (std::isnan(element_as_double(t, 0))) return std::nullopt;
  if (t.dtype == kFloat16) return float16_text(t) + "f16";
  if (t.dtype == kFloat32) return float_text(t.as<float>()[0]) + "f";
  if (t.dtype == kFloat64) return float_text(t.as<double>()[0]) + "f64";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> scalar_literal(const Tensor& t) {
  if (!t.is_scalar() || t.dtype.lanes != 1) return std::nullopt;
  if (t.dtype.is_float()) return float_literal(t);
  // A bool of another bit pattern than 0 or 1 would lose it.
  if (t.dtype.is_bool() && t.as<std::uint8_t>()[0] <= 1) {
    return t.as<std::uint8_t>()[0] != 0 ? "True" : "False";
  }
  if (t.dtype == kInt16) return fmt::format("{}i16", element_as_int(t, 0));
  if (t.dtype == kInt32) return fmt::format("{}", element_as_int(t, 0));
  if (t.dtype == kInt64) return fmt::format("{}i64", element_as_int(t, 0));
  return std::nullopt;
}

std::string attr_text(const AttrValue& value) {
  if (const auto* b = value.as<bool>()) return *b ? "True" : "False";
  if (const auto* i = value.as<std::int64_t>()) {
    return fmt::format("{}{}", *i, value.width == 32 ? "" : fmt::format("i{}", value.width));
  }
  if (const auto* d = value.as<double>()) {
    return fmt::format("{}f{}", float_text(*d),
                       value.width == 32 ? "" : std::to_string(value.width));
  }
  if (const auto* s = value.as<std::string>()) return quoted(*s);
  const auto* array = value.as<AttrArray>();
  if (array == nullptr) return "None";
  std::string out = "[";
  for (const AttrValue& item : *array) {
    if (out.size() > 1) out += ", ";
    out += attr_text(item);
  }
  return out + "]";
}

std::string global_text(std::string_view name) {
  bool legal = !name.empty() && is_identifier_start(name[0]) && name[0] != '/';
  for (const char c : name) legal = legal && is_identifier_char(c);
  return "@" + (legal ? std::string(name) : quoted(name));
}

std::string NameAllocator::local(std::string_view hint) {
  const bool starts_with_letter = !hint.empty() && is_letter(hint[0]);
  std::string name = starts_with_letter ? "%" : "%v";
  for (const char c : hint) name += is_identifier_char(c) ? c : '_';
  const auto taken = used_.find(name);
  if (taken != used_.end()) {
    std::string candidate;
    do {
      candidate = fmt::format("{}{}", name, ++taken->second);
    } while (used_.contains(candidate));
    name = std::move(candidate);
  }
  used_.emplace(name, 0);
  return name;
}

std::string NameAllocator::exact(std::string_view name) {
  const bool plain = !name.empty() && is_letter(name[0]) &&
                     std::all_of(name.begin(), name.end(), is_identifier_char);
  std::string text = "%" + (plain ? std::string(name) : quoted(name));
  return used_.emplace(text, 0).second ? text : local(name);
}

}  // namespace tessera::relay
