// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/library.h"

#include <stdexcept>

#include <dlfcn.h>
#include <fmt/format.h>

#include "byoc/library_search.h"

namespace tessera::backends::cublas {
namespace {

#ifdef TESSERA_CUBLASLT_LIBRARY
constexpr const char* kLibraryAtBuild = TESSERA_CUBLASLT_LIBRARY;
#else
constexpr const char* kLibraryAtBuild = "";
#endif

constexpr int kConfigurations = 1;  // raised when their texts get another meaning

FoundLibrary find_library() {
  FoundLibrary found;
  found.path = byoc::find_library(kLibraryFile, kLibraryAtBuild);
  if (found.path.empty()) {
    found.lack = fmt::format(
        "{} was not found: install cuBLAS of CUDA 13 (the toolkit has it, and so has the PyPI "
        "package nvidia-cublas 13), or name its directory in TESSERA_LIBRARY_PATH",
        kLibraryFile);
    return found;
  }
  struct Context {
    void* handle;
    std::string missing;
  } context{dlopen(found.path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE), ""};
  const Lookup look_up = [](void* of, const char* symbol) {
    auto* c = static_cast<Context*>(of);
    void* function = c->handle == nullptr ? nullptr : dlsym(c->handle, symbol);
    if (function == nullptr) c->missing = symbol;
    return function;
  };
  if (load_api(&found.api, look_up, &context)) {
    found.version = found.api.GetVersion();
  } else {
    found.lack = fmt::format("{} is no cublasLt that can be used: it has no function `{}`",
                             found.path, context.missing);
  }
  return found;
}

}  // namespace

const FoundLibrary& found_library() {
  static const FoundLibrary library = find_library();
  return library;
}

OpenedLibrary::OpenedLibrary() {
  const FoundLibrary& found = found_library();
  if (!found.lack.empty()) throw std::runtime_error(found.lack);
  library_.api = found.api;
  library_.version = found.version;
  const cublasStatus_t status = found.api.Create(&library_.handle);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw std::runtime_error(
      fmt::format("cublasLt gives no handle: {}", found.api.GetStatusString(status)));
}

OpenedLibrary::~OpenedLibrary() { library_.api.Destroy(library_.handle); }

std::string record_version() {
  return fmt::format("{}, cublasLt {}", kConfigurations, VersionText(found_library().version).text);
}

}  // namespace tessera::backends::cublas
