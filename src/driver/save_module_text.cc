// SPDX-License-Identifier: Apache-2.0
#include "driver/save_module_text.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "constants/npy.h"
#include "module/text.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

// What the line of the text that names the constants' file can hold, and load_model takes for text.
Result<void> check_name(const std::string& path) {
  if (!path.ends_with(".relay") && !path.ends_with(".txt")) {
    return fail(error(Code::kBadOption, {}, "-o {}: the name of a Relay text ends in .relay", path)
                    .with_remedy("other files are read as ONNX: give it that ending"));
  }
  const bool plain = std::all_of(path.begin(), path.end(), [](char c) {
    return c != '"' && static_cast<unsigned char>(c) >= ' ';
  });
  if (plain) return {};
  return fail(error(Code::kBadOption, {},
                    "-o {}: a text cannot name the file of its constants where that has quotation "
                    "marks or control characters in its name",
                    path)
                  .with_remedy("use another name"));
}

}  // namespace

Result<void> write_text_constants(const std::string& path, const std::vector<Tensor>& constants) {
  std::map<std::string, Tensor> members;
  for (std::size_t i = 0; i < constants.size(); ++i) members[std::to_string(i)] = constants[i];
  return write_npz(path, members);
}

Result<void> save_module_text(const Module& module, const std::string& path) {
  TESSERA_TRY_VOID(check_name(path));
  TextAndConstants out = print_apart(module);
  if (!out.constants.empty()) {
    const std::string file = path + ".npz";
    TESSERA_TRY_VOID(write_text_constants(file, out.constants));
    out.text += metadata_in(std::filesystem::path(file).filename().string());
  }
  if (auto written = write_atomically(path, out.text); !written) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text())
                    .with_remedy("check the folder and its permissions"));
  }
  return {};
}

}  // namespace tessera::driver
