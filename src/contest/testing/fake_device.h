// SPDX-License-Identifier: Apache-2.0
// For tests: a device whose memory is the host's, and whose clock and recordings are those of a
// stand-in of a vendor's library.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include <dlfcn.h>

#include "runtime/device.h"

namespace tessera::contest::testing {

// What the stand-in says.
struct StandIn {
  std::uint64_t (*now_ns)() = nullptr;  // of the device
  void (*record)(int) = nullptr;        // launches from now on, instead of running them; or not
  void* (*take)() = nullptr;            // what was recorded
  void (*replay)(void*) = nullptr;
  void (*drop)(void*) = nullptr;
};
inline StandIn stand_in;

using Error = tessera_device_error;

inline const tessera_device_api kFakeDevice = {
    .open = [](std::int32_t, const char*, Error*) -> std::int32_t { return TESSERA_OK; },
    .enter = [](std::int32_t, std::int32_t*, Error*) -> std::int32_t { return TESSERA_OK; },
    .leave = nullptr,
    .allocate = [](std::uint64_t bytes, void** memory, Error*) -> std::int32_t {
      *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
      return TESSERA_OK;
    },
    .release = [](void* memory) { std::free(memory); },
    .allocate_host = nullptr,
    .release_host = nullptr,
    .place_of = nullptr,
    .create_stream = [](void** stream, Error*) -> std::int32_t {
      *stream = nullptr;
      return TESSERA_OK;
    },
    .destroy_stream = [](void*) {},
    .copy = [](void* to, const void* from, std::uint64_t bytes, void*, Error*) -> std::int32_t {
      std::memcpy(to, from, bytes);
      return TESSERA_OK;
    },
    .synchronize = [](void*, Error*) -> std::int32_t { return TESSERA_OK; },
    .create_event = [](void** event, Error*) -> std::int32_t {
      *event = new std::uint64_t(0);
      return TESSERA_OK;
    },
    .destroy_event = [](void* event) { delete static_cast<std::uint64_t*>(event); },
    .record_event = [](void* event, void*, Error*) -> std::int32_t {
      *static_cast<std::uint64_t*>(event) = stand_in.now_ns();
      return TESSERA_OK;
    },
    .wait_event = nullptr,
    .synchronize_event = nullptr,
    .elapsed_ns = [](void* begin, void* end, std::uint64_t* ns, Error*) -> std::int32_t {
      *ns = *static_cast<std::uint64_t*>(end) - *static_cast<std::uint64_t*>(begin);
      return TESSERA_OK;
    },
    .is_capturing = nullptr,
    .begin_capture = [](void*, Error*) -> std::int32_t {
      stand_in.record(1);
      return TESSERA_OK;
    },
    .end_capture = [](void*, void** graph, Error*) -> std::int32_t {
      *graph = stand_in.take();
      stand_in.record(0);
      return TESSERA_OK;
    },
    .launch_graph = [](void* graph, void*, Error*) -> std::int32_t {
      stand_in.replay(graph);
      return TESSERA_OK;
    },
    .destroy_graph = [](void* graph) { stand_in.drop(graph); },
    .create_products = nullptr,
    .destroy_products = nullptr,
    .multiply = nullptr,
};

// The device of the stand-in in that file, whose functions are PREFIX_now_ns and so on.
inline const tessera_device_api& fake_device(const std::string& path, const std::string& prefix) {
  void* library = dlopen(path.c_str(), RTLD_NOW);
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, (prefix + name).c_str()));
  };
  find(stand_in.now_ns, "_now_ns");
  find(stand_in.record, "_record");
  find(stand_in.take, "_take");
  find(stand_in.replay, "_replay");
  find(stand_in.drop, "_drop");
  return kFakeDevice;
}

}  // namespace tessera::contest::testing
