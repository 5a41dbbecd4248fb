// SPDX-License-Identifier: Apache-2.0
// Reading and updating the files of goldens.
#include <fstream>

#include <fmt/format.h>

#include "passes/testing/golden.h"
#include "passes/testing/golden_constants.h"
#include "support/files.h"

namespace tessera::passes::testing {
namespace {

constexpr std::string_view kSeparator = "// --- ", kCheck = "// CHECK:";

// What follows `// KEY:`, or nothing if the line is not that.
std::optional<std::string> directive(const std::string& line, std::string_view key) {
  const std::string head = fmt::format("// {}:", key);
  if (!line.starts_with(head)) return std::nullopt;
  const std::size_t begin = line.find_first_not_of(' ', head.size());
  return begin == line.npos ? "" : line.substr(begin);
}

void read_directive(const std::string& line, GoldenCase& golden) {
  if (auto args = directive(line, "ARGS")) {
    golden.args = *args;
  } else if (auto constant = directive(line, "CONSTANT")) {
    golden.constants.push_back(parse_constant(*constant));
  } else if (line.starts_with(kCheck)) {
    golden.expected.push_back(line.size() > kCheck.size() ? line.substr(kCheck.size() + 1) : "");
  } else if (line == "// TYPES") {
    golden.types = true;
  } else if (directive(line, "NOT-IDEMPOTENT")) {
    golden.not_idempotent = true;
  } else if (directive(line, "NOT-EVALUATED")) {
    golden.not_evaluated = true;
  }
}

}  // namespace

GoldenFile read_golden(const std::string& path) {
  std::ifstream in(path);
  TESSERA_CHECK(in.good(), "cannot read {}", path);
  GoldenFile file{path, {}, {}};
  GoldenCase defaults;
  for (std::string line; std::getline(in, line); file.lines.push_back(line)) {
    if (line.starts_with(kSeparator)) {
      file.cases.push_back(defaults);
      file.cases.back().name = line.substr(kSeparator.size());
      continue;
    }
    GoldenCase& golden = file.cases.empty() ? defaults : file.cases.back();
    // Directives stay in the text, so that lines count; CHECK lines come last in a case.
    read_directive(line, golden);
    golden.text += line + "\n";
  }
  for (GoldenCase& golden : file.cases) {
    golden.text.erase(0, defaults.text.size());
    golden.has_version = golden.text.find("#[version") != std::string::npos;
    if (!golden.has_version) golden.text = "#[version = \"0.0.5\"]\n" + golden.text;
  }
  return file;
}

void update_golden(const std::string& path, const std::string& name,
                   const std::vector<std::string>& lines) {
  std::string text;
  bool inside = false;
  const auto write = [&] {
    while (text.ends_with("\n\n")) text.pop_back();
    for (const std::string& line : lines)
      text += fmt::format("{}{}{}\n", kCheck, line.empty() ? "" : " ", line);
    inside = false;
  };
  for (const std::string& line : read_golden(path).lines) {
    if (line.starts_with(kSeparator)) {
      if (inside) {
        write();
        text += "\n";
      }
      inside = line.substr(kSeparator.size()) == name;
    }
    if (!inside || !line.starts_with(kCheck)) text += line + "\n";
  }
  if (inside) write();
  TESSERA_CHECK(write_atomically(path, text).has_value(), "cannot write {}", path);
}

}  // namespace tessera::passes::testing
