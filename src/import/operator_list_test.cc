// SPDX-License-Identifier: Apache-2.0
// docs/onnx-operators.md is what the tables of converters say.
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "import/converters.h"
#include "ops/records/table.h"
#include "support/testing/golden.h"

namespace tessera::import {
namespace {

struct Entry {
  std::set<int> since;  // opsets from which converters read it
  std::string relay;    // the operator that it maps to one to one
};

struct Name {
  std::string domain, op_type;
  auto operator<=>(const Name&) const = default;
};

// "com.microsoft.nchwc.Conv": domains have dots, operators none.
Name parsed(std::string_view qualified) {
  const std::size_t dot = qualified.rfind('.');
  if (dot == std::string_view::npos) return {"ai.onnx", std::string(qualified)};
  return {std::string(qualified.substr(0, dot)), std::string(qualified.substr(dot + 1))};
}

std::map<Name, Entry> all_operators() {
  std::map<Name, Entry> entries;
  for (const auto& table : converter_tables()) {
    for (const Converter& c : table) entries[parsed(c.op_type)].since.insert(c.since_opset);
  }
  for (const relay::Operator* op : ops::operators().all()) {
    for (const std::string_view name : op->onnx) {
      Entry& entry = entries[parsed(name)];
      if (entry.since.empty()) entry.relay = op->name;  // a converter goes before it
    }
  }
  for (const char* name : {"If", "Loop", "Scan"}) entries[{"ai.onnx", name}].since.insert(1);
  return entries;
}

std::string opsets(const Entry& entry) {
  const int first = entry.since.empty() ? 1 : *entry.since.begin();
  return fmt::format("{} to {}", first, kNewestOpset);
}

std::string note(const Entry& entry) {
  if (!entry.relay.empty()) return fmt::format("is `{}`", entry.relay);
  if (entry.since.size() < 2) return "";
  const std::vector<int> later(std::next(entry.since.begin()), entry.since.end());
  return fmt::format("read in another way from {} on", fmt::join(later, ", "));
}

std::string operators_text() {
  std::string text, domain;
  for (const auto& [name, entry] : all_operators()) {
    if (name.domain != domain) {
      domain = name.domain;
      text += fmt::format("\n## {}\n\n| operator | opsets | |\n|---|---|---|\n", domain);
    }
    text += fmt::format("| {} | {} | {} |\n", name.op_type, opsets(entry), note(entry));
  }
  return text;
}

std::string refused_text() {
  std::string text =
      "\n## Refused for a reason\n\nNames stand for all operators that begin so.\n\n"
      "| operators | why |\n|---|---|\n";
#define REFUSED(prefix, why) text += fmt::format("| {} | {} |\n", prefix, why);
#include "import/refused.def"
#undef REFUSED
  return text;
}

TEST(OperatorList, ThePageIsWhatTheTablesSay) {
  const std::string head = fmt::format(
      "# Operators of ONNX\n\n"
      "What `tessera` imports, by domain. This page is written by a test from the tables of\n"
      "converters (`src/import/converters.def`). Opsets are those of ai.onnx that the model\n"
      "imports, {} at the most. A node of an operator in the list is still refused where it uses\n"
      "what its converter does not read: an attribute, an output, a data type. The message says\n"
      "which, and `tessera check model.onnx` lists all such nodes of a model.\n",
      kNewestOpset);
  tessera::testing::expect_golden(TESSERA_SOURCE_DIR "/docs/onnx-operators.md",
                                  head + operators_text() + refused_text());
}

}  // namespace
}  // namespace tessera::import
