// SPDX-License-Identifier: Apache-2.0
// OpenVINO's C interface as a table of pointers: the library is opened by dlopen, never linked.
#pragma once

#include <cstddef>
#include <cstdint>

#include <openvino/c/openvino.h>

#include "runtime/error.h"
#include "tessera/tensor.h"

namespace tessera::backends::openvino {

// The files that a model opens, in this order. The last two are opened by OpenVINO itself, which
// looks for them beside its own: they are here so that they are bundled.
inline constexpr const char* kThreadsFile = "libtbb.so.12";
inline constexpr const char* kCoreFile = "libopenvino" TESSERA_OPENVINO_SUFFIX;
inline constexpr const char* kLibraryFile = "libopenvino_c" TESSERA_OPENVINO_SUFFIX;
inline constexpr const char* kPluginFile = "libopenvino_intel_cpu_plugin.so";
inline constexpr const char* kReaderFile = "libopenvino_ir_frontend" TESSERA_OPENVINO_SUFFIX;

inline constexpr const char* kDevice = "CPU";

// What begins the payload of a region: the version of the library that compiled it, zero bytes up
// to here, and then what that exported.
inline constexpr std::size_t kHeaderBytes = 128;

// Of tensors that a region has.
inline constexpr std::int32_t kMostDimensions = 8;

struct Api {
#define FUNCTION(name) decltype(&::ov_##name) name;
#include "backends/openvino/runtime/functions.def"
#undef FUNCTION
};

// The address of a function, or null (having said so).
using Lookup = void* (*)(void* context, const char* symbol);

// False: a function is missing, which `lookup` has reported.
[[nodiscard]] bool load_api(Api* api, Lookup lookup, void* context);

// "2026.4.1-22982-e213a147257-releases/2026/4", as far as a payload's header has room.
struct Version {
  explicit Version(const Api& api);
  char text[kHeaderBytes] = "";
};

// What went wrong last, in OpenVINO's words without the places in its sources.
void add_reason(const Api& api, ov_status_e status, runtime::TextBuffer* error);

// A core whose models compute in float32, for no threads. Null: `error` says why.
ov_core_t* create_core(const Api& api, runtime::TextBuffer* error);

// How many threads compute what the core compiles or imports from now on: the calling one, and the
// others of an arena of oneTBB's. With 0 no thread is made, and the calling one computes alone.
// False: `error` says why.
[[nodiscard]] bool set_threads(const Api& api, ov_core_t* core, std::int32_t threads,
                               runtime::TextBuffer* error);

// DYNAMIC: OpenVINO has no such type, or computes with another.
ov_element_type_e element_type(tessera_dtype dtype);

}  // namespace tessera::backends::openvino
