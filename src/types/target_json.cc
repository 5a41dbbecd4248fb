// SPDX-License-Identifier: Apache-2.0
// The JSON form of targets, and of lists of targets.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "types/target_builder.h"

namespace tessera {
namespace {

using Json = nlohmann::json;

template <class T>
std::optional<T> scalar_from(const Json& json) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) return std::nullopt;
    auto text = json.get<std::string>();  // trimmed, as in the string form
    text.erase(0, text.find_first_not_of(" \t\r\n"));
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    return text;
  } else {
    if (json.is_boolean()) return static_cast<T>(json.get<bool>());
    if (!json.is_number_integer()) return std::nullopt;
    if (json.is_number_unsigned() && json.get<std::uint64_t>() > INT64_MAX) return std::nullopt;
    const auto number = json.get<std::int64_t>();
    if (std::is_same_v<T, bool> && number != 0 && number != 1) return std::nullopt;
    return static_cast<T>(number);
  }
}

// Reads a list; on failure `at` is the index of the item that does not fit.
template <class T>
std::optional<TargetValue> list_from(const Json& json, std::string& at) {
  if (!json.is_array()) return std::nullopt;
  std::vector<T> items;
  for (std::size_t i = 0; i < json.size(); ++i) {
    auto item = scalar_from<T>(json[i]);
    const bool is_empty_text =
        json[i].is_string() && json[i].template get_ref<const std::string&>().empty();
    if (!item || is_empty_text) {  // the string form cannot say an empty item
      at += fmt::format("[{}]", i);
      return std::nullopt;
    }
    items.push_back(*std::move(item));
  }
  return items;
}

// Reads a value of the type that `like` has; `at` tells the place of a wrong one.
std::optional<TargetValue> value_from(const Json& json, const TargetValue& like, std::string& at) {
  return std::visit(
      [&]<class T>(const T&) -> std::optional<TargetValue> {
        if constexpr (std::is_same_v<T, std::vector<std::int64_t>> ||
                      std::is_same_v<T, std::vector<std::string>>) {
          return list_from<typename T::value_type>(json, at);
        } else {
          return scalar_from<T>(json);
        }
      },
      like);
}

Result<ParsedTarget> target_from_object(const Json& json, const std::string& source);

// A target given as a string or an object; `source` is the text around it.
Result<ParsedTarget> target_from(const Json& json, const std::string& source) {
  if (json.is_string()) return read_target(json.get<std::string>());
  if (json.is_object()) return target_from_object(json, source);
  return fail(error(Code::kBadTarget, nullptr,
                    "target `{}`: a target is a string or a JSON object, not {}", source,
                    json.type_name()));
}

void set_from_json(TargetBuilder& builder, const std::string& key, const Json& json,
                   const std::string& source) {
  const TargetValue* like = builder.begin_option(key);
  if (like == nullptr) return;
  if (key == "host") {
    // Looked for here, so that nesting has a bound.
    if (json.is_object() && json.contains("host")) {
      return builder.problem("a host has no host of its own");
    }
    auto host = target_from(json, source);
    if (!host) return builder.add_problems(std::move(host).error());
    return builder.set_host(host->target);
  }
  std::string at = fmt::format("[\"{}\"]", key);
  if (auto value = value_from(json, *like, at)) {
    builder.set(key, *std::move(value));
  } else {
    builder.problem("{}: the option must be {}, not {}", at, type_name(*like), json.type_name());
  }
}

Result<ParsedTarget> target_from_object(const Json& json, const std::string& source) {
  const auto kind_name = json.find("kind");
  if (kind_name == json.end() || !kind_name->is_string()) {
    const bool tagged = json.contains("tag");
    return fail(error(Code::kBadTarget, nullptr, "target `{}`: {}", source,
                      tagged ? "no target has this `tag`, and `kind` is missing"
                             : "`kind` is missing or no string"));
  }
  const auto name = kind_name->get<std::string>();
  const TargetKind* kind = find_target_kind(name);
  if (kind == nullptr) return fail(unknown_target_kind(name, source));
  TargetBuilder builder(*kind, source);
  for (const auto& [key, value] : json.items()) {
    if (key != "kind") set_from_json(builder, key, value, source);
  }
  return builder.finish();
}

Result<Json> parse_json(std::string_view text) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_discarded()) return json;
  return fail(error(Code::kBadTarget, nullptr, "target `{}` is not valid JSON", text));
}

// A list, or an object of targets by device, whose keys are ignored.
bool is_collection(const Json& json) {
  if (!json.is_object()) return json.is_array();
  return !json.contains("kind") && !json.contains("tag") &&
         std::all_of(json.begin(), json.end(),
                     [](const Json& item) { return item.is_string() || item.is_object(); });
}

}  // namespace

Result<ParsedTarget> read_target_json(std::string_view text) {
  TESSERA_TRY(const Json json, parse_json(text));
  return target_from(json, std::string(text));
}

void read_targets(const std::string& text, std::vector<ParsedTarget>& targets,
                  Diagnostics& problems) {
  const auto take = [&](Result<ParsedTarget> target) {
    if (target) {
      targets.push_back(*std::move(target));
    } else {
      problems.add(std::move(target).error());
    }
  };
  const auto start = text.find_first_not_of(" \t\r\n");
  if (start == std::string::npos || (text[start] != '[' && text[start] != '{')) {
    return take(read_target(text));
  }
  const auto json = parse_json(text);
  if (!json) return problems.add(json.error());
  if (!is_collection(*json)) return take(target_from(*json, text));
  for (const auto& item : *json) take(target_from(item, text));
}

bool is_utf8(std::string_view text) {
  const Json json(text);  // damaged bytes are replaced in one dump, and left out of the other
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) ==
         json.dump(-1, ' ', false, Json::error_handler_t::ignore);
}

std::string to_json(const Target& target) {
  Json json = {{"kind", target.name()}, {"tag", target.tag()}, {"keys", target.keys()}};
  for (const auto& [key, value] : target.values()) {
    std::visit([&json, &key = key](const auto& v) { json[key] = v; }, value);
  }
  if (target.host() != nullptr) json["host"] = Json::parse(to_json(*target.host()));
  return json.dump();
}

}  // namespace tessera
