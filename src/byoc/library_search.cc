// SPDX-License-Identifier: Apache-2.0
#include "byoc/library_search.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <dlfcn.h>
#include <link.h>

namespace tessera::byoc {
namespace {

constexpr int kFlags = RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE;

const link_map* map_of(void* handle) {
  const link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? map : nullptr;
}

// The file that a name or path loads, which stays loaded: vendor libraries have threads.
std::string loaded_path(const std::string& name, int flags = kFlags) {
  void* handle = dlopen(name.c_str(), flags);
  if (handle == nullptr) return "";
  const link_map* map = map_of(handle);
  const std::string path = map == nullptr ? "" : std::filesystem::weakly_canonical(map->l_name);
  dlclose(handle);
  return path;
}

std::string load_from(const std::string& folder, const std::string& file,
                      std::span<const char* const> beside) {
  if (!std::filesystem::exists(folder + file)) return "";
  for (const char* other : beside) loaded_path(folder + other);
  return loaded_path(folder + file);
}

}  // namespace

std::string loaded_library(const std::string& file) {
  return loaded_path(file, kFlags | RTLD_NOLOAD);
}

std::vector<std::string> needed_files(void* library) {
  std::vector<std::string> files;
  const link_map* map = map_of(library);
  if (map == nullptr) return files;
  const char* names = nullptr;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(d->d_un.d_ptr);
  }
  for (const ElfW(Dyn)* d = map->l_ld; names != nullptr && d->d_tag != DT_NULL; ++d) {
    if (d->d_tag == DT_NEEDED) files.emplace_back(names + d->d_un.d_val);
  }
  return files;
}

std::string find_library(const std::string& file, const std::string& at_build,
                         std::span<const char* const> beside) {
  const char* directories = std::getenv("TESSERA_LIBRARY_PATH");
  std::istringstream list(directories != nullptr ? directories : "");
  for (std::string directory; std::getline(list, directory, ':');) {
    if (directory.empty()) continue;
    if (std::string path = load_from(directory + "/", file, beside); !path.empty()) return path;
  }
  if (!at_build.empty()) {
    // The build may have found a developer's link beside it; the file is what models will name.
    const std::string folder = at_build.substr(0, at_build.rfind('/') + 1);
    if (std::string path = load_from(folder, file, beside); !path.empty()) return path;
  }
  return loaded_path(file);
}

}  // namespace tessera::byoc
