// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/library_handle.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include <dlfcn.h>
#include <fmt/core.h>

#include "byoc/library_search.h"

namespace tessera::backends::openvino {
namespace {

constexpr const char* kHowToGet =
    "install PyPI's `openvino` of that version (scripts/install-deps.sh does), or name the folder "
    "of its libraries in TESSERA_LIBRARY_PATH";

struct Opened {
  std::optional<Api> api;
  std::string error;
  std::vector<std::string> files;
  std::map<std::string, std::string> paths;
};

std::string beside(const std::string& path, const char* file) {
  return (std::filesystem::path(path).parent_path() / file).string();
}

// The files and where they are; "", or the one that is missing.
std::string find_files(const std::string& library, Opened& out) {
  const std::string core = byoc::loaded_library(kCoreFile);
  for (const auto& [file, path] :
       {std::pair(kThreadsFile, byoc::loaded_library(kThreadsFile)), std::pair(kCoreFile, core),
        std::pair(kLibraryFile, library), std::pair(kPluginFile, beside(core, kPluginFile)),
        std::pair(kReaderFile, beside(core, kReaderFile))}) {
    if (path.empty() || !std::filesystem::exists(path)) return file;
    out.files.emplace_back(file);
    out.paths[file] = path;
  }
  return "";
}

Opened open_library() {
  Opened out;
  const std::string path = byoc::find_library(kLibraryFile, TESSERA_OPENVINO_LIBRARY);
  if (path.empty()) {
    out.error = fmt::format("{} was not found: {}", kLibraryFile, kHowToGet);
    return out;
  }
  if (const std::string missing = find_files(path, out); !missing.empty()) {
    out.error = fmt::format("{} was found, but not {}, which OpenVINO computes with on the CPU: {}",
                            path, missing, kHowToGet);
    return out;
  }
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
  Api api;
  if (handle != nullptr && load_api(&api, look_up, handle)) {
    out.api = api;
  } else {
    out.error = fmt::format("{} is no OpenVINO that can be used: {}", path, kHowToGet);
  }
  return out;
}

const Opened& opened() {
  static const Opened library = open_library();
  return library;
}

}  // namespace

const Api* compiler_library() { return opened().api ? &*opened().api : nullptr; }
const std::string& compiler_library_error() { return opened().error; }
const std::vector<std::string>& compiler_library_files() { return opened().files; }

std::string compiler_library_path(const std::string& file) {
  const auto found = opened().paths.find(file);
  return found == opened().paths.end() ? "" : found->second;
}

}  // namespace tessera::backends::openvino
