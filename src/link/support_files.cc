// SPDX-License-Identifier: Apache-2.0
#include "link/support_files.h"

#include <algorithm>
#include <filesystem>

#include "support/files.h"
#include "support/installation.h"

namespace tessera::link {
namespace {

Result<std::string> existing(std::string path, const char* why) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  return fail(error(Code::kFileNotFound, nullptr, "`{}` is missing: {}", path, why)
                  .with_remedy("install tessera again, or name its folder in TESSERA_ROOT"));
}

}  // namespace

Result<SupportFiles> SupportFiles::find(const std::string& root) {
  SupportFiles files;
  files.root_ = root.empty() ? installation_root() : root;
  // Named before the folder is looked into: a wrong root gives a message that names a file.
  std::vector<std::string> headers = {files.root_ + "/include/tessera/model.h",
                                      files.root_ + "/lib/tessera/include/runtime/program.h"};
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(files.root_ + "/include/tessera", ignored)) {
    headers.push_back(entry.path().string());
  }
  std::sort(headers.begin(), headers.end());
  std::string all;
  for (const std::string& header : headers) {
    auto text = read_file(header);
    if (!text) {
      return fail(error(Code::kFileNotFound, nullptr,
                        "cannot read {}: it belongs beside the command", text.error().text())
                      .with_remedy("install tessera again, or name its folder in TESSERA_ROOT"));
    }
    all += *text;
  }
  files.headers_hash_ = hash_text(all);
  return files;
}

std::vector<std::string> SupportFiles::include_folders() const {
  return {root_ + "/include", root_ + "/lib/tessera/include"};
}

Result<std::string> SupportFiles::archive(const std::string& name) const {
  return existing(fmt::format("{}/lib/tessera/libtessera_{}.a", root_, name),
                  "the library needs it");
}

Result<std::string> SupportFiles::command() const {
  return existing(command_below(root_),
                  "it measures what candidates take, and compiles for back ends that may crash");
}

}  // namespace tessera::link
