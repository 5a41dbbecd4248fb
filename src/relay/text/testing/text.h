// SPDX-License-Identifier: Apache-2.0
// Reading and printing in tests.
#pragma once

#include <gtest/gtest.h>

#include "relay/structural_equal.h"
#include "relay/testing/operators.h"
#include "relay/text/parse.h"
#include "relay/text/printer.h"
#include "relay/words.h"

namespace tessera::relay::testing {

inline std::shared_ptr<const SourceFile> source(std::string text) {
  return std::make_shared<const SourceFile>(SourceFile{"t.relay", std::move(text)});
}
inline std::shared_ptr<const SourceFile> module_source(std::string_view definitions) {
  return source(std::string(kVersionLine) + "\n" + std::string(definitions));
}

// Definitions only, version line and metadata left out.
inline std::string print_all(const std::map<std::string, Function>& functions,
                             const PrintOptions& options = {}) {
  Printer printer(options, nullptr);
  std::string out;
  for (const auto& [name, f] : functions) out += printer.definition(name, f);
  return out;
}

// Functions with their metadata, as module text has them.
inline std::string print_text(const std::map<std::string, Function>& functions) {
  const PrintOptions options;
  Printer printer(options, nullptr);
  std::string out = std::string(kVersionLine) + "\n";
  for (const auto& [name, f] : functions) out += printer.definition(name, f);
  if (printer.constants().tensors().empty()) return out;
  return out + std::string(kMetadataLine) + "\n" + metadata_json(printer.constants().tensors());
}

inline ParsedText parse_good(std::shared_ptr<const SourceFile> file) {
  auto parsed = parse_text(file, operators());
  if (parsed) return std::move(*parsed);
  ADD_FAILURE() << render(parsed.error()) << "\n" << file->text;
  return {};
}

inline Function parse_main(std::string_view definitions) {
  ParsedText text = parse_good(module_source(definitions));
  EXPECT_TRUE(text.functions.contains("main"));
  return std::move(text.functions["main"]);
}

// "E0201 2:5 message" for each error.
inline std::string errors_of(std::shared_ptr<const SourceFile> file) {
  auto parsed = parse_text(file, operators());
  if (parsed) return "";
  std::string out;
  for (const Diagnostic& d : parsed.error().list) {
    std::string place = to_string(d.location);
    if (const auto at = place.find(':'); at != std::string::npos) place.erase(0, at + 1);
    out +=
        (out.empty() ? "" : "\n") + std::string(code_text(d.code)) + " " + place + " " + d.message;
  }
  return out;
}

// A text's definitions after one trip through the parser and printer.
inline void expect_round_trip(std::string_view definitions) {
  const ParsedText once = parse_good(module_source(definitions));
  const std::string text = print_text(once.functions);
  const ParsedText twice = parse_good(source(text));
  ASSERT_EQ(once.functions.size(), twice.functions.size()) << text;
  for (const auto& [name, f] : once.functions) {
    const auto difference = find_difference(f, twice.functions.at(name));
    EXPECT_FALSE(difference) << difference->where << ": " << difference->what << "\n" << text;
    EXPECT_EQ(structural_hash(f), structural_hash(twice.functions.at(name)));
  }
  EXPECT_EQ(print_text(twice.functions), text);
}

}  // namespace tessera::relay::testing
