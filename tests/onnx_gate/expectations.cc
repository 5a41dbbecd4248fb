// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/expectations.h"

#include "support/files.h"

namespace tessera::onnx_gate {
namespace {

constexpr std::string_view kPassHeader =
    "# Cases that compile, load, run and give the expected numbers.\n"
    "# Kept by `tessera_onnx_gate --update`.\n";
constexpr std::string_view kFailHeader =
    "# Cases that fail, each with the kind of failure and the reason.\n"
    "# Kept by `tessera_onnx_gate --update`, which leaves the reasons of unchanged kinds alone.\n";

Result<std::string> read_text(const std::string& path) {
  auto text = read_file(path);
  if (!text) return fail(error(Code::kFileNotFound, {}, "{}", text.error().text()));
  return std::move(*text);
}

// f for each line that is no comment.
template <class F>
void for_each_line(const std::string& text, F f) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    if (!line.empty() && line[0] != '#') f(line);
    at = end + 1;
  }
}

Result<void> write_text(const std::string& path, const std::string& text) {
  const auto written = write_atomically(path, text);
  if (!written)
    return tessera::fail(error(Code::kFileNotWritable, {}, "{}", written.error().text()));
  return {};
}

}  // namespace

Failure Failure::parse(const std::string& text) {
  const std::size_t colon = text.find(": ");
  if (colon == std::string::npos) return {"", text};
  return {text.substr(0, colon), text.substr(colon + 2)};
}

std::optional<std::string> Expectations::surprise(const std::string& name,
                                                  const std::optional<Failure>& outcome,
                                                  bool evaluated) const {
  const auto listed = fail.find(name);
  const bool only_compiler =
      evaluated && listed != fail.end() && listed->second.reason.starts_with(kCompilerReason);
  const bool should_fail = listed != fail.end() && !only_compiler;
  if (!outcome) {
    if (should_fail) return "passes, but is expected to fail";
    return pass.contains(name) || only_compiler ? std::nullopt
                                                : std::optional<std::string>("is in no list");
  }
  if (!should_fail) return "fails: " + outcome->text();
  if (outcome->kind == listed->second.kind) return std::nullopt;
  return fmt::format("fails: {}; expected is a failure of the kind `{}`", outcome->text(),
                     listed->second.kind);
}

std::vector<std::string> Expectations::not_among(const std::set<std::string>& names) const {
  std::vector<std::string> missing;
  for (const std::string& name : pass) {
    if (!names.contains(name)) missing.push_back(name);
  }
  for (const auto& [name, failure] : fail) {
    if (!names.contains(name)) missing.push_back(name);
  }
  return missing;
}

Result<Expectations> Expectations::read(const std::string& folder) {
  Expectations e;
  TESSERA_TRY(const std::string passing, read_text(folder + "/expected_pass.txt"));
  TESSERA_TRY(const std::string failing, read_text(folder + "/expected_fail.txt"));
  for_each_line(passing, [&](const std::string& line) { e.pass.insert(line); });
  for_each_line(failing, [&](const std::string& line) {
    const std::size_t colon = line.find(": ");
    e.fail[line.substr(0, colon)] =
        Failure::parse(colon == std::string::npos ? "" : line.substr(colon + 2));
  });
  return e;
}

Result<void> Expectations::write(const std::string& folder) const {
  std::string passing(kPassHeader), failing(kFailHeader);
  for (const std::string& name : pass) passing += name + "\n";
  for (const auto& [name, f] : fail) failing += fmt::format("{}: {}\n", name, f.text());
  TESSERA_TRY_VOID(write_text(folder + "/expected_pass.txt", passing));
  return write_text(folder + "/expected_fail.txt", failing);
}

}  // namespace tessera::onnx_gate
