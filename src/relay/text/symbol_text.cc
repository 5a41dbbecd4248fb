// SPDX-License-Identifier: Apache-2.0
// `seq = 8..512 step 8 : 128`: minimum, maximum, step, and the size to optimise for.
#include <charconv>

#include <fmt/format.h>

#include "relay/text/parse_value.h"

namespace tessera::relay {

namespace {

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(" \t"), last = text.find_last_not_of(" \t");
  return first == std::string_view::npos ? "" : text.substr(first, last - first + 1);
}

// Cuts the text at a separator; the part after it is returned where there is one.
std::optional<std::string_view> cut(std::string_view& text, std::string_view separator) {
  const auto at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view after = trim(text.substr(at + separator.size()));
  text = trim(text.substr(0, at));
  return after;
}

// Which of MIN <= LIKELY <= MAX and 1 <= STEP does not hold; "" if all do.
Finding wrong_bound(const Symbol& s) {
  if (s.step < 1) return fmt::format("the step {} is below 1", s.step);
  if (s.max >= 0 && s.max < s.min) {
    return fmt::format("the maximum {} is below the minimum {}", s.max, s.min);
  }
  if (s.likely && *s.likely < s.min) {
    return fmt::format("the likely size {} is below the minimum {}", *s.likely, s.min);
  }
  if (s.likely && s.max >= 0 && *s.likely > s.max) {
    return fmt::format("the likely size {} is above the maximum {}", *s.likely, s.max);
  }
  return "";
}

}  // namespace

Expected<Symbol, Finding> parse_symbol(std::string_view text) {
  Symbol s;
  std::string_view name = text;
  auto range = cut(name, "=");
  if (!range || !is_symbol_name(name)) {
    return Unexpected<Finding>{
        "a symbol is declared as `#[symbol NAME = MIN..MAX step N : LIKELY]`"};
  }
  s.name = std::string(name);
  const auto likely = cut(*range, ":");
  const auto step = cut(*range, "step");
  const auto max = cut(*range, "..");
  const auto read = [](std::string_view digits, std::int64_t& value) {
    const auto size = parse_size(digits);
    if (size) value = *size;
    return size.has_value();
  };
  bool good = read(*range, s.min);
  if (!max) {
    s.max = s.min;
  } else if (!max->empty()) {
    good = good && read(*max, s.max);
  }
  if (step) good = good && read(*step, s.step);
  if (likely) good = good && read(*likely, s.likely.emplace());
  if (!good) return Unexpected<Finding>{"the sizes of a symbol are numbers: `8..512 step 8 : 128`"};
  if (Finding finding = wrong_bound(s); !finding.empty()) {
    return Unexpected<Finding>{std::move(finding)};
  }
  return s;
}

std::string symbol_text(const Symbol& s) {
  std::string out = fmt::format("{} = {}..", s.name, s.min);
  if (s.max >= 0) out += fmt::format("{}", s.max);
  if (s.step != 1) out += fmt::format(" step {}", s.step);
  if (s.likely) out += fmt::format(" : {}", *s.likely);
  return out;
}

}  // namespace tessera::relay
