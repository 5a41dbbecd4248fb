// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/library_handle.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <vector>

#include <dlfcn.h>
#include <fmt/core.h>
#include <link.h>

extern "C" {
int omp_get_max_threads(void);
void omp_set_num_threads(int);
}

namespace tessera::backends::onednn {
namespace {

std::vector<std::string> places() {
  std::vector<std::string> out;
  const char* path = std::getenv("TESSERA_LIBRARY_PATH");
  std::string rest = path != nullptr ? path : "";
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const std::string directory = rest.substr(0, colon);
    if (!directory.empty()) out.push_back(directory + "/" + kLibraryFile);
    rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
  }
#ifdef TESSERA_ONEDNN_LIBRARY
  out.push_back(TESSERA_ONEDNN_LIBRARY);
#endif
  out.push_back(kLibraryFile);
  return out;
}

struct Opened {
  std::unique_ptr<Library> library;
  std::string error, path;
};

std::string path_of(void* handle) {
  link_map* map = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 ? std::filesystem::weakly_canonical(map->l_name)
                                                    : "";
}

// The library stays open to the end of the process: its threads may outlive any handle.
Opened open_library() {
  Opened out;
  for (const std::string& place : places()) {
    void* handle = dlopen(place.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (handle == nullptr) continue;
    out.library = std::make_unique<Library>();
    TextBuffer error;
    const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
    if (out.library->open(look_up, handle, &error)) {
      out.path = path_of(handle);
      return out;
    }
    out.library.reset();
    out.error = fmt::format("{} is no oneDNN that can be used: {}", place,
                            error.text()[0] != '\0' ? error.text() : "a function is missing");
  }
  if (out.error.empty()) {
    out.error = fmt::format(
        "{} was not found: install oneDNN 3 (scripts/install-deps.sh does), or name its directory "
        "in TESSERA_LIBRARY_PATH",
        kLibraryFile);
  }
  return out;
}

const Opened& opened() {
  static const Opened library = open_library();
  return library;
}

}  // namespace

Library* compiler_library() { return opened().library.get(); }
const std::string& compiler_library_error() { return opened().error; }
const std::string& compiler_library_path() { return opened().path; }

ThreadCount::ThreadCount(int threads) {
  if (threads <= 0) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}

ThreadCount::~ThreadCount() {
  if (before_ > 0) omp_set_num_threads(before_);
}

}  // namespace tessera::backends::onednn
