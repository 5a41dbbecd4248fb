// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/runtime/api.h"

#include <cstdio>

namespace tessera::backends::cublas {

bool load_api(Api* api, Lookup lookup, void* context) {
#define FUNCTION(name)                                                                          \
  api->name = reinterpret_cast<decltype(&::cublasLt##name)>(lookup(context, "cublasLt" #name)); \
  if (api->name == nullptr) return false;
#include "backends/cublas/runtime/functions.def"
#undef FUNCTION
  return true;
}

VersionText::VersionText(std::size_t version) {
  std::snprintf(text, sizeof text, "%zu.%zu.%zu", version / 10000, version / 100 % 100,
                version % 100);
}

}  // namespace tessera::backends::cublas
