// SPDX-License-Identifier: Apache-2.0
#include "byoc/library_search.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <dlfcn.h>
#include <link.h>

namespace tessera::byoc {
namespace {

// The file that a name or path loads, which stays loaded: vendor libraries have threads.
std::string loaded_path(const std::string& name) {
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return "";
  const link_map* map = nullptr;
  std::string path;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    path = std::filesystem::weakly_canonical(map->l_name);
  }
  dlclose(handle);
  return path;
}

}  // namespace

std::string find_library(const std::string& file, const std::string& at_build) {
  const char* directories = std::getenv("TESSERA_LIBRARY_PATH");
  std::istringstream list(directories != nullptr ? directories : "");
  for (std::string directory; std::getline(list, directory, ':');) {
    if (directory.empty()) continue;
    directory.append("/").append(file);
    if (std::string path = loaded_path(directory); !path.empty()) return path;
  }
  if (!at_build.empty()) {
    // The build may have found a developer's link beside it; the file is what models will name.
    const std::string beside = at_build.substr(0, at_build.rfind('/') + 1) + file;
    if (std::string path = loaded_path(beside); !path.empty()) return path;
  }
  return loaded_path(file);
}

}  // namespace tessera::byoc
