// SPDX-License-Identifier: Apache-2.0
// oneDNN's C interface as a table of pointers: the library is opened by dlopen, never linked.
#pragma once

#include <oneapi/dnnl/dnnl.h>

namespace tessera::backends::onednn {

inline constexpr const char* kLibraryFile = "libdnnl.so.3";

struct Api {
#define FUNCTION(name) decltype(&::dnnl_##name) name;
#include "backends/onednn/runtime/functions.def"
#undef FUNCTION
};

// The address of a function, or null (having said so).
using Lookup = void* (*)(void* context, const char* symbol);

// False: a function is missing, which `lookup` has reported.
[[nodiscard]] bool load_api(Api* api, Lookup lookup, void* context);

// "invalid arguments", ...
const char* status_text(dnnl_status_t status);

}  // namespace tessera::backends::onednn
