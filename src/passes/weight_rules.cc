// SPDX-License-Identifier: Apache-2.0
#include "passes/weight_rules.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fnmatch.h>

namespace tessera::passes {
namespace {

// Kept, each, unless a rule says otherwise.
constexpr std::string_view kKinds[] = {"@embedding", "@first", "@last", "@small"};
constexpr std::array<std::int64_t, 3> kGroups = {32, 64, 128};

Unexpected<Diagnostics> wrong(std::string_view rule, std::string_view why) {
  return fail(error(Code::kBadOption, {}, "`{}` does not say how weights are stored: {}", rule, why)
                  .with_remedy("write [PATTERN=]int8 or int4, then :group=32, 64 or 128 and "
                               "symmetric or asymmetric as wanted, or [PATTERN=]fp8, then "
                               ":channel or tensor and static or dynamic, or [PATTERN=]keep, or "
                               "[NAME=]lossless: "
                               "\"int4:group=64,asymmetric\", \"*/lm_head*=keep\""));
}

Result<void> take_word_of_float8(std::string_view rule, std::string_view word, Float8Form& form) {
  if (word == "channel" || word == "tensor") {
    form.weights = word == "tensor" ? Float8Scales::kTensor : Float8Scales::kColumn;
  } else if (word == "static" || word == "dynamic") {
    form.data = word == "static" ? Float8Form::Data::kStatic : Float8Form::Data::kDynamic;
  } else {
    return wrong(rule, fmt::format("`{}` is not known of fp8", word));
  }
  return {};
}

Result<void> take_word(std::string_view rule, std::string_view word, WeightForm& form) {
  if (form.float8) return take_word_of_float8(rule, word, *form.float8);
  constexpr std::string_view kGroup = "group=";
  if (word == "symmetric" || word == "asymmetric") {
    form.is_symmetric = word == "symmetric";
    return {};
  }
  if (!word.starts_with(kGroup)) return wrong(rule, fmt::format("`{}` is not known", word));
  const std::string_view number = word.substr(kGroup.size());
  const auto [end, problem] =
      std::from_chars(number.data(), number.data() + number.size(), form.group);
  const bool is_number = problem == std::errc() && end == number.data() + number.size();
  if (is_number && std::ranges::find(kGroups, form.group) != kGroups.end()) return {};
  return wrong(rule, fmt::format("there are no groups of `{}`", number));
}

Result<WeightForm> parse_form(std::string_view rule, std::string_view text) {
  WeightForm form;
  if (text == "keep") return form;
  if (text == "lossless") {
    form.is_lossless = true;
    return form;
  }
  const std::string_view name = text.substr(0, text.find(':'));
  if (name == "fp8") {
    form.float8.emplace();
  } else if (name != "int8" && name != "int4") {
    return wrong(rule, fmt::format("`{}` is not known", name));
  }
  form.bits = name == "int4" ? 4 : 8;
  std::string_view rest = text.substr(name.size());
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view word = rest.substr(0, rest.find(','));
    TESSERA_TRY_VOID(take_word(rule, word, form));
    rest.remove_prefix(word.size());
  }
  return form;
}

Result<WeightRule> parse_rule(std::string_view text) {
  // `group=` of a form has a sign, too.
  const std::size_t sign = text.substr(0, text.find(":group=")).rfind('=');
  WeightRule rule{"*", std::string(text), {}};
  std::string_view form = text;
  if (sign != std::string_view::npos) {
    rule.pattern = text.substr(0, sign);
    form = text.substr(sign + 1);
    if (rule.pattern.empty()) return wrong(text, "its pattern is empty");
  }
  if (rule.pattern.starts_with('@') &&
      std::ranges::find(kKinds, rule.pattern) == std::end(kKinds)) {
    return wrong(text, fmt::format("`{}` is not known", rule.pattern));
  }
  TESSERA_TRY(rule.form, parse_form(text, form));
  if (rule.form.is_lossless && rule.pattern.starts_with('@')) {
    return wrong(text, fmt::format("`{}` is of products that become integers", rule.pattern));
  }
  return rule;
}

}  // namespace

std::string to_string(const WeightForm& form) {
  if (form.is_lossless) return "lossless";
  if (form.bits == 0) return "keep";
  if (form.float8) {
    static constexpr std::string_view kOfData[] = {"", ",static", ",dynamic"};
    return fmt::format("fp8:{}{}",
                       form.float8->weights == Float8Scales::kTensor ? "tensor" : "channel",
                       kOfData[static_cast<int>(form.float8->data)]);
  }
  return fmt::format("int{}:group={},{}", form.bits, form.group,
                     form.is_symmetric ? "symmetric" : "asymmetric");
}

bool fits_a_name(const WeightRule& rule, std::span<const std::string> names) {
  if (rule.pattern == "*") return true;
  return !rule.pattern.starts_with('@') && std::ranges::any_of(names, [&](const std::string& n) {
    return ::fnmatch(rule.pattern.c_str(), n.c_str(), 0) == 0;
  });
}

const WeightRule* rule_of_constant(std::span<const WeightRule> rules,
                                   std::span<const std::string> names) {
  const auto rule =
      std::ranges::find_if(rules, [&](const WeightRule& r) { return fits_a_name(r, names); });
  return rule == rules.end() ? nullptr : &*rule;
}

Result<std::vector<WeightRule>> parse_weight_rules(std::span<const std::string> texts) {
  std::vector<WeightRule> of_all, others;
  for (const std::string_view kind : kKinds) {
    TESSERA_TRY(WeightRule rule, parse_rule(fmt::format("{}=keep", kind)));
    others.push_back(std::move(rule));
  }
  for (const std::string& text : texts) {
    TESSERA_TRY(WeightRule rule, parse_rule(text));
    (rule.pattern == "*" ? of_all : others).push_back(std::move(rule));
  }
  of_all.insert(of_all.end(), others.begin(), others.end());
  std::reverse(of_all.begin(), of_all.end());
  return of_all;
}

}  // namespace tessera::passes
