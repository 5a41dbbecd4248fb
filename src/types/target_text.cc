// SPDX-License-Identifier: Apache-2.0
// The string form of targets: `kind -key=value -key value -flag`. '...' protects spaces, a
// backslash the next character; list items stand between commas; a nested target is a quoted
// string.
#include <algorithm>
#include <charconv>

#include "types/target.h"
#include "types/target_builder.h"
#include "types/target_options.h"

namespace tessera {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";
bool is_space(char c) { return kSpaces.find(c) != std::string_view::npos; }

std::string_view trim(std::string_view text) {
  const auto first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

// Goes through text with quotes and escapes: on_literal for protected characters, on_plain for
// others. False if a quote or an escape has no end.
template <class Literal, class Plain>
bool scan(std::string_view text, Literal on_literal, Plain on_plain) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i == text.size()) return false;
      on_literal(i);
    } else if (text[i] == '\'') {
      quoted = !quoted;
    } else if (quoted) {
      on_literal(i);
    } else {
      on_plain(i);
    }
  }
  return !quoted;
}

// Cuts at unprotected characters for which `is_separator` holds; the pieces keep their quotes.
template <class IsSeparator>
std::optional<std::vector<std::string_view>> split(std::string_view text,
                                                   IsSeparator is_separator) {
  std::vector<std::string_view> pieces;
  std::size_t begin = 0;
  const bool complete = scan(
      text, [](std::size_t) {},
      [&](std::size_t i) {
        if (!is_separator(text[i])) return;
        pieces.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      });
  if (!complete) return std::nullopt;
  pieces.push_back(text.substr(begin));
  return pieces;
}

std::string unquote(std::string_view text) {
  std::string out;
  const auto take = [&](std::size_t i) { out += text[i]; };
  scan(text, take, take);
  return std::string(trim(out));
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text == "true") return 1;
  if (text == "false") return 0;
  std::int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Reads a value of the type that `like` has.
std::optional<TargetValue> parse_value(std::string_view raw, const TargetValue& like) {
  if (std::holds_alternative<std::string>(like)) return unquote(raw);
  if (std::holds_alternative<std::int64_t>(like) || std::holds_alternative<bool>(like)) {
    const auto value = parse_int(unquote(raw));
    if (!value) return std::nullopt;
    if (std::holds_alternative<std::int64_t>(like)) return *value;
    if (*value != 0 && *value != 1) return std::nullopt;
    return *value == 1;
  }
  std::vector<std::string> strings;
  std::vector<std::int64_t> ints;
  const auto pieces = split(raw, [](char c) { return c == ','; });
  for (const auto piece : pieces.value()) {
    if (raw == "''") break;  // the empty list
    strings.push_back(unquote(piece));
    const auto value = parse_int(strings.back());
    if (std::holds_alternative<std::vector<std::int64_t>>(like) && !value) return std::nullopt;
    if (strings.back().empty()) return std::nullopt;
    ints.push_back(value.value_or(0));
  }
  if (std::holds_alternative<std::vector<std::int64_t>>(like)) return ints;
  return strings;
}

struct OptionText {
  std::string key;
  std::string_view value;  // with its quotes
};

// Takes one option off the front of the words: `-key=value`, `-key value` or `-flag`.
OptionText take_option(std::span<const std::string_view>& words) {
  std::string_view word = words.front();
  words = words.subspan(1);
  word.remove_prefix(std::min(word.find_first_not_of('-'), word.size()));
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos) {
    return {std::string(word.substr(0, equals)), word.substr(equals + 1)};
  }
  if (words.empty() || words.front().starts_with('-')) return {std::string(word), "1"};
  const OptionText option{std::string(word), words.front()};
  words = words.subspan(1);
  return option;
}

void set_from_text(TargetBuilder& builder, const OptionText& option) {
  if (option.key.empty() || option.value.empty()) {
    builder.problem("empty option key or value in `-{}={}`", option.key, option.value);
    return;
  }
  const TargetValue* like = builder.begin_option(option.key);
  if (like == nullptr) return;
  if (option.key == "host") {
    auto host = parse_target(unquote(option.value));
    if (!host) return builder.add_problems(std::move(host).error());
    return builder.set_host(*host);
  }
  if (auto value = parse_value(option.value, *like)) {
    builder.set(option.key, *std::move(value));
  } else {
    builder.problem("option `{}` must be {}, not `{}`", option.key, type_name(*like), option.value);
  }
}

std::string quote(const std::string& text, bool in_list) {
  const bool plain = !text.empty() && std::none_of(text.begin(), text.end(), [&](char c) {
    return is_space(c) || c == '\'' || c == '\\' || (in_list && c == ',');
  });
  if (plain) return text;
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out + "'";
}

struct ValueText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(std::int64_t value) const { return fmt::format("{}", value); }
  std::string operator()(const std::string& value) const {
    return value.empty() ? "" : quote(value, false);
  }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    std::string out;
    for (const auto value : values) out += fmt::format("{}{}", out.empty() ? "" : ",", value);
    return out;
  }
  std::string operator()(const std::vector<std::string>& values) const {
    std::string out;
    for (const auto& value : values) out += (out.empty() ? "" : ",") + quote(value, true);
    return out;
  }
};

// ` -key=value`; nothing for an empty value, unless the default is not empty.
std::string option_text(const std::string& key, const TargetValue& value, const TargetKind& kind) {
  std::string text = std::visit(ValueText(), value);
  const TargetOption* option = kind.find_option(key);
  if (text.empty() && (option == nullptr || option->default_value == value)) return "";
  return fmt::format(" -{}={}", key, text.empty() ? "''" : text);
}

}  // namespace

Result<Target> parse_target(std::string_view text) {
  TESSERA_TRY(ParsedTarget read, read_target(text));
  return std::move(read.target);
}

Result<ParsedTarget> read_target(std::string_view text) {
  text = trim(text);
  if (!is_utf8(text)) {
    return fail(error(Code::kBadTarget, nullptr, "target `{}` is not UTF-8 text", text));
  }
  if (text.starts_with('{')) return read_target_json(text);
  auto words = split(text, is_space);
  if (!words) {
    return fail(
        error(Code::kBadTarget, nullptr, "target `{}`: a quote or escape has no end", text));
  }
  std::erase(*words, std::string_view());
  if (words->empty()) {
    return fail(error(Code::kBadTarget, nullptr, "the target is empty, its kind is missing"));
  }
  const TargetKind* kind = find_target_kind(words->front());
  if (kind == nullptr) return fail(unknown_target_kind(words->front(), text));
  TargetBuilder builder(*kind, std::string(text));
  std::span<const std::string_view> rest(*words);
  rest = rest.subspan(1);
  while (!rest.empty()) {
    if (rest.front().starts_with('-')) {
      set_from_text(builder, take_option(rest));
    } else {
      builder.problem("`{}` is not an option; options begin with `-`", rest.front());
      rest = rest.subspan(1);
    }
  }
  return builder.finish();
}

std::string to_string(const Target& target) {
  std::string out = target.name() + " -keys=" + ValueText()(target.keys());
  auto values = target.values();
  if (!target.tag().empty()) values.emplace("tag", target.tag());
  for (const auto& [key, value] : values) out += option_text(key, value, target.kind());
  return out;
}

std::string options_text(const TargetKind& kind) {
  std::string out;
  const auto add = [&](const std::string& option, const std::string& doc) {
    out += fmt::format("  {:<32}  {}\n", option, doc);
  };
  for (const TargetOption& option : kind.options) {
    const std::string value = std::visit(ValueText(), option.default_value);
    add(fmt::format("-{}={}", option.name, value), option.doc);
  }
  out += "of every kind, absent unless given:\n";
  for (const TargetOption& option : common_target_options()) add("-" + option.name, option.doc);
  return out;
}

std::string short_text(const Target& target) {
  std::string out = target.name();
  for (const auto& [key, value] : target.values()) {
    const TargetOption* option = target.kind().find_option(key);
    if (option != nullptr && option->default_value == value) continue;
    out += option_text(key, value, target.kind());
  }
  return out;
}

}  // namespace tessera
