// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/library_handle.h"

#include <memory>

#include <dlfcn.h>
#include <fmt/core.h>

#include "byoc/library_search.h"
#include "runtime/gomp.h"

namespace tessera::backends::onednn {
namespace {

#ifdef TESSERA_ONEDNN_LIBRARY
constexpr const char* kLibraryAtBuild = TESSERA_ONEDNN_LIBRARY;
#else
constexpr const char* kLibraryAtBuild = "";
#endif

struct Opened {
  std::unique_ptr<Library> library;
  std::string error, path;
};

Opened open_library() {
  Opened out;
  out.path = byoc::find_library(kLibraryFile, kLibraryAtBuild);
  if (out.path.empty()) {
    out.error = fmt::format(
        "{} was not found: install oneDNN 3 (scripts/install-deps.sh does), or name its directory "
        "in TESSERA_LIBRARY_PATH",
        kLibraryFile);
    return out;
  }
  runtime::open_gomp();  // before the library does
  void* handle = dlopen(out.path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
  out.library = std::make_unique<Library>();
  TextBuffer error;
  if (handle != nullptr && out.library->open(look_up, handle, &error)) return out;
  out.library.reset();
  out.error = fmt::format("{} is no oneDNN that can be used: {}", out.path,
                          error.text()[0] != '\0' ? error.text() : "a function is missing");
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

}  // namespace tessera::backends::onednn
