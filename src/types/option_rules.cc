// SPDX-License-Identifier: Apache-2.0
#include "types/option_rules.h"

#include <algorithm>
#include <cstdlib>

namespace tessera {
namespace {

using Ints = std::vector<std::int64_t>;

// `sm_90a`: two or three digits from 75 on, and a letter perhaps. Which of them exist, nvcc knows.
bool is_arch(const TargetValue& v) {
  std::string_view text = std::get<std::string>(v);
  if (!text.starts_with("sm_")) return false;
  text.remove_prefix(3);
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::string_view rest = text.substr(digits);
  const bool is_number = (digits == 2 || digits == 3) && text[0] != '0';
  const bool in_range = is_number && std::atoi(std::string(text).c_str()) >= kOldestArch;
  return in_range && (rest.empty() || rest == "a" || rest == "f");
}

bool are_counts(const TargetValue& v) {
  return std::ranges::all_of(std::get<Ints>(v), [](std::int64_t n) { return n >= 1; });
}

std::string word(const TargetValue& choice) {
  const auto* text = std::get_if<std::string>(&choice);
  return text != nullptr ? "`" + *text + "`" : std::to_string(std::get<std::int64_t>(choice));
}

}  // namespace

bool OptionRule::allows(const TargetValue& value) const {
  const bool is_chosen = choices.empty() || std::ranges::find(choices, value) != choices.end();
  return is_chosen && (holds == nullptr || holds(value));
}

OptionRule one_of(std::vector<TargetValue> choices) {
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    text += (i == 0 ? "" : i + 1 < choices.size() ? ", " : " or ") + word(choices[i]);
  }
  return {std::move(text), std::move(choices)};
}

OptionRule counts() { return {"numbers from 1 on", {}, are_counts}; }

bool are_pairs_within(const TargetValue& v, std::int64_t most) {
  const Ints& numbers = std::get<Ints>(v);
  if (numbers.size() % 2 != 0 || !are_counts(v)) return false;
  for (std::size_t i = 0; i < numbers.size(); i += 2) {
    const std::int64_t a = numbers[i], b = numbers[i + 1];
    if (a > most || b > most || a * b > most) return false;
  }
  return true;
}

OptionRule arch() {
  return {
      "an architecture from sm_75 on, as sm_80 and sm_90a are: CUDA 13 has no code for older GPUs",
      {},
      is_arch};
}

OptionRule arch_or_auto() {
  return {
      "an architecture from sm_75 on, as sm_80 and sm_90a are, or `auto`: CUDA 13 has no code "
      "for older GPUs",
      {},
      [](const TargetValue& v) { return std::get<std::string>(v) == "auto" || is_arch(v); }};
}

}  // namespace tessera
