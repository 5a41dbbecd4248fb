// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/library_handle.h"

#include <algorithm>
#include <array>
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

// What builds of oneDNN for oneTBB need, in the order in which they can be loaded: the compiler's
// mathematics, and the threads.
constexpr std::array kBeside = {"libintlc.so.5", "libimf.so", "libtbb.so.12"};

struct Opened {
  std::unique_ptr<Library> library;
  std::string error, path;
  std::vector<std::string> files;
};

std::vector<std::string> files_of(void* handle) {
  const std::vector<std::string> needed = byoc::needed_files(handle);
  std::vector<std::string> files;
  for (const char* file : kBeside) {
    if (std::find(needed.begin(), needed.end(), file) != needed.end()) files.emplace_back(file);
  }
  files.emplace_back(kLibraryFile);
  return files;
}

Opened open_library() {
  Opened out;
  runtime::open_gomp();  // before a oneDNN that has its threads from there does
  out.path = byoc::find_library(kLibraryFile, kLibraryAtBuild, kBeside);
  if (out.path.empty()) {
    out.error = fmt::format(
        "{} was not found: install oneDNN 3 (scripts/install-deps.sh does), or name its directory "
        "in TESSERA_LIBRARY_PATH",
        kLibraryFile);
    return out;
  }
  void* handle = dlopen(out.path.c_str(), RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
  const Lookup look_up = [](void* library, const char* symbol) { return dlsym(library, symbol); };
  out.library = std::make_unique<Library>();
  TextBuffer error;
  if (handle != nullptr && out.library->open(look_up, handle, &error)) {
    out.files = files_of(handle);
    return out;
  }
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

namespace {

bool library_has(unsigned instructions) {
  const Library* library = compiler_library();
  return library != nullptr &&
         (library->api().get_effective_cpu_isa() & instructions) == instructions;
}

}  // namespace

bool library_multiplies_bytes() {
  return library_has(dnnl_cpu_isa_avx2_vnni) || library_has(dnnl_cpu_isa_avx512_core_vnni);
}

std::vector<DType> library_types_of_16_bits() {
  std::vector<DType> types;
  if (library_has(dnnl_cpu_isa_avx512_core_bf16)) types.push_back(kBFloat16);
  if (library_has(dnnl_cpu_isa_avx512_core_fp16)) types.push_back(kFloat16);
  return types;
}

const std::string& compiler_library_error() { return opened().error; }
const std::vector<std::string>& compiler_library_files() { return opened().files; }

std::string compiler_library_path(const std::string& file) {
  const Opened& library = opened();
  if (file == kLibraryFile) return library.path;
  const auto& files = library.files;
  const bool is_needed = std::find(files.begin(), files.end(), file) != files.end();
  return is_needed ? byoc::loaded_library(file) : "";
}

}  // namespace tessera::backends::onednn
