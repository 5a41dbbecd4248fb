// SPDX-License-Identifier: Apache-2.0
#include "tools/session.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "constants/npy.h"
#include "driver/compile.h"
#include "link/library_file.h"

namespace tessera::tools {
namespace {

bool is_elf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  file.read(magic, sizeof(magic));
  return file && std::string_view(magic, 4) ==
                     "\x7f"
                     "ELF";
}

// What a library is made of was decided when it was compiled.
Result<void> check_for_library(const ModelOptionTexts& model) {
  const std::pair<const char*, bool> given[] = {{"--target", !model.targets.empty()},
                                                {"--backends", !model.backends.empty()},
                                                {"--dim", !model.dims.empty()},
                                                {"--require", !model.require.empty()},
                                                {"--strict", model.options.strict},
                                                {"--dump-dir", !model.options.dump_dir.empty()},
                                                {"--records", !model.options.records.empty()},
                                                {"--partition", model.partition != "greedy"}};
  for (const auto& [option, is_given] : given) {
    if (!is_given) continue;
    return fail(error(Code::kBadOption, {}, "`{}` is a compiled library: {} has no effect on it",
                      model.options.model, option)
                    .with_remedy("give the option to `tessera compile`, or run the model itself"));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<exec::Session>> open_session(const ModelOptionTexts& model,
                                                    const exec::SessionOptions& options) {
  const std::string& path = model.options.model;
  if (!std::filesystem::exists(path)) {
    return fail(
        error(Code::kFileNotFound, {}, "`{}` does not exist", path).with_remedy("check the path"));
  }
  if (is_elf(path)) {
    TESSERA_TRY_VOID(check_for_library(model));
    TESSERA_TRY_VOID(link::read_library_file(path));  // not loaded before it is known to be whole
    return exec::Session::open_library(path, options);
  }
  TESSERA_TRY(const driver::CompileOptions compile_options, resolve(model));
  return driver::prepare_in_process(compile_options, options);
}

std::string npy_file(const std::string& folder, const std::string& tensor) {
  std::string name = tensor;
  for (char& c : name) {
    const bool kept =
        std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '-';
    if (!kept) c = '_';
  }
  return folder + "/" + name + ".npy";
}

namespace {

// Every .npy file must be an input: a misspelt one would be replaced by random numbers.
Result<void> check_names(const exec::Session& session, const std::string& folder) {
  if (folder.empty()) return {};
  std::vector<std::string> known, names;
  for (const exec::PortInfo& port : session.inputs()) {
    known.push_back(npy_file(folder, port.name));
    names.push_back("`" + port.name + "`");
  }
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    files.push_back(folder + "/" + entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  Diagnostics errors;
  for (const std::string& file : files) {
    if (!file.ends_with(".npy") || std::find(known.begin(), known.end(), file) != known.end())
      continue;
    errors.add(
        error(Code::kBadInput, {}, "`{}` is no input of the model, which has {}", file,
              fmt::join(names, ", "))
            .with_remedy(
                "give files the names of inputs, with `_` for what is not in [A-Za-z0-9_.-]"));
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

}  // namespace

Result<std::vector<Tensor>> read_inputs(const exec::Session& session, const std::string& folder) {
  std::vector<Tensor> inputs;
  if (!folder.empty() && !std::filesystem::is_directory(folder)) {
    return fail(error(Code::kFileNotFound, {}, "--inputs {}: there is no such folder", folder)
                    .with_remedy("check the path"));
  }
  TESSERA_TRY_VOID(check_names(session, folder));
  for (std::size_t i = 0; i < session.inputs().size(); ++i) {
    const exec::PortInfo& port = session.inputs()[i];
    const std::string file = npy_file(folder, port.name);
    if (!folder.empty() && std::filesystem::exists(file)) {
      TESSERA_TRY(Tensor tensor, read_npy(file));
      inputs.push_back(std::move(tensor));
    } else {
      inputs.push_back(exec::random_input(port, i));
    }
  }
  return inputs;
}

}  // namespace tessera::tools
