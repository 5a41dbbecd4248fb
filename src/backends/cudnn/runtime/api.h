// SPDX-License-Identifier: Apache-2.0
// cuDNN's C interface as a table of pointers: the library is opened by dlopen, never linked.
#pragma once

#include <cudnn_graph.h>

#include "runtime/error.h"

namespace tessera::backends::cudnn {

using runtime::TextBuffer;

// A library that opens the others of cuDNN, which lie beside it.
inline constexpr const char* kLibraryFile = "libcudnn.so.9";

struct Api {
#define FUNCTION(name) decltype(&::cudnn##name) name;
#include "backends/cudnn/runtime/functions.def"
#undef FUNCTION
};

// The address of a function, or null (having said so).
using Lookup = void* (*)(void* context, const char* symbol);

// False: a function is missing, which `lookup` has reported.
[[nodiscard]] bool load_api(Api* api, Lookup lookup, void* context);

// Adds "WHAT: the status's name (cuDNN's reason)"; false, so that a caller can return it.
bool fail(const Api& api, const char* what, cudnnStatus_t status, TextBuffer* error);

}  // namespace tessera::backends::cudnn
