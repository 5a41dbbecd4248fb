// SPDX-License-Identifier: Apache-2.0
// Fills a target from either of its text forms; for the files of types/ only.
#pragma once

#include <optional>
#include <set>

#include "types/target.h"

namespace tessera {

// Options that every kind has and that are absent unless given: `keys`, `device`, `model`, ...
std::span<const TargetOption> common_target_options();
// "an integer", "a list of strings", ...: the type of a value in messages.
std::string_view type_name(const TargetValue& value);
// A target, and which of its options its text says: equal targets may differ in that.
struct ParsedTarget {
  Target target;
  std::set<std::string> given;
};

// All problems of one target, each naming the text that it was read from.
class TargetBuilder {
 public:
  TargetBuilder(const TargetKind& kind, std::string source)
      : target_(kind.name), source_(std::move(source)) {}

  // The default value of an option, which tells its type; reports an unknown or repeated one.
  const TargetValue* begin_option(const std::string& option);
  void set(const std::string& option, TargetValue value);
  void set_host(const Target& host);
  // "target `cpu -x`: " and the message.
  template <class... A>
  void problem(fmt::format_string<A...> text, A&&... args) {
    problems_.add(error(Code::kBadTarget, nullptr, "target `{}`: {}", source_,
                        fmt::format(text, std::forward<A>(args)...)));
  }
  void add_problems(Diagnostics problems) { problems_.add(std::move(problems)); }
  Result<ParsedTarget> finish();

 private:
  void choose_arch();
  void check_arch();
  Target target_;
  std::string source_;
  std::set<std::string> given_;
  std::vector<std::string> keys_;
  Diagnostics problems_;
};

// "target kind `x` is not defined", with the kinds that are.
Diagnostic unknown_target_kind(std::string_view name, std::string_view source);
// Targets travel as JSON, which is UTF-8.
bool is_utf8(std::string_view text);
// Either form, and the JSON form, which starts with `{`.
Result<ParsedTarget> read_target(std::string_view text);
Result<ParsedTarget> read_target_json(std::string_view text);
// Adds the targets of one text: a target, or a JSON array or object of targets.
void read_targets(const std::string& text, std::vector<ParsedTarget>& targets,
                  Diagnostics& problems);

}  // namespace tessera
