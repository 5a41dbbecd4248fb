// SPDX-License-Identifier: Apache-2.0
// cublasLt's C interface as a table of pointers: the library is opened by dlopen, never linked.
#pragma once

#include <cublasLt.h>

namespace tessera::backends::cublas {

inline constexpr const char* kLibraryFile = "libcublasLt.so.13";

struct Api {
#define FUNCTION(name) decltype(&::cublasLt##name) name;
#include "backends/cublas/runtime/functions.def"
#undef FUNCTION
};

// The address of a function, or null (having said so).
using Lookup = void* (*)(void* context, const char* symbol);

// False: a function is missing, which `lookup` has reported.
[[nodiscard]] bool load_api(Api* api, Lookup lookup, void* context);

// "13.1.0" of a version as the library tells it.
struct VersionText {
  explicit VersionText(std::size_t version);
  char text[32];
};

}  // namespace tessera::backends::cublas
