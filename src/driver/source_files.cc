// SPDX-License-Identifier: Apache-2.0
#include "driver/source_files.h"

#include <algorithm>
#include <filesystem>

#include "driver/calibration.h"
#include "driver/load_model.h"
#include "import/onnx_contents.h"
#include "module/text.h"

namespace tessera::driver {
namespace {

Result<std::vector<std::string>> data_files(const std::string& model) {
  if (model == "-") return std::vector<std::string>();
  if (!is_relay_text(model)) {
    TESSERA_TRY(const import::OnnxContents contents, import::onnx_contents(model));
    return std::vector(contents.data_files.begin(), contents.data_files.end());
  }
  TESSERA_TRY(const auto file, read_source(model));
  const auto constants = constant_file(*file);
  return constants ? std::vector{*constants} : std::vector<std::string>();
}

// As make reads names.
Result<std::string> escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (c == '\n' || c == '\r' || c == '\0' || c == '\\') {
      return fail(error(Code::kBadOption, {},
                        "--depfile: the name `{}` has a line's end or a backslash in it", name)
                      .with_remedy("give the file another name"));
    }
    if (c == ' ' || c == '\t' || c == '#' || c == ':') text += '\\';
    if (c == '$') text += '$';
    text += c;
  }
  return text;
}

}  // namespace

Result<std::vector<std::string>> source_files(const CompileOptions& options) {
  TESSERA_TRY(std::vector<std::string> names, data_files(options.model));
  if (options.model != "-") names.insert(names.begin(), options.model);
  if (!options.records.empty()) names.push_back(options.records);
  if (!options.calibrate.empty()) {
    TESSERA_TRY(const std::vector<std::string> inputs, calibration_files(options.calibrate));
    names.insert(names.end(), inputs.begin(), inputs.end());
  }
  std::vector<std::string> files;
  for (const std::string& name : names) {
    std::string path = std::filesystem::absolute(name).lexically_normal().string();
    if (std::ranges::find(files, path) == files.end()) files.push_back(std::move(path));
  }
  return files;
}

Result<std::string> dependency_rule(const std::string& output,
                                    const std::vector<std::string>& sources) {
  TESSERA_TRY(std::string rule, escaped(output));
  rule += ':';
  for (const std::string& source : sources) {
    TESSERA_TRY(const std::string name, escaped(source));
    rule += " \\\n  " + name;
  }
  return rule + '\n';
}

}  // namespace tessera::driver
