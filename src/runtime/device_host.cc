// SPDX-License-Identifier: Apache-2.0
// What the CPU does for a program on a device: functions that exist for it alone, with copies of
// their tensors, and the scalars that branches and loops depend on.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "runtime/arguments.h"
#include "runtime/device_run.h"
#include "runtime/threads.h"

namespace tessera::runtime {
namespace {

struct HostCopies {
  Array<tessera_tensor> tensors;
  Array<tessera_tensor*> list;
  void* workspace = nullptr;
  ~HostCopies() {
    for (const tessera_tensor& t : tensors) std::free(t.data);
    std::free(workspace);
  }
};

std::int32_t call_with_copies(const tessera_instance& instance, tessera_backend_fn fn,
                              const tessera_call& call, tessera_tensor** tensors,
                              std::int32_t inputs, std::int32_t count,
                              tessera_device_error* error) {
  const tessera_device_api& api = *instance.work.api;
  const auto size = static_cast<std::size_t>(count);
  HostCopies copies;
  const auto fail_memory = [&] {
    std::snprintf(error->text, sizeof error->text, "out of memory for copies of tensors");
    return std::int32_t{TESSERA_OUT_OF_MEMORY};
  };
  if (!copies.tensors.allocate(size) || !copies.list.allocate(size)) return fail_memory();
  const auto bytes = [&](std::size_t i) {
    return compact_bytes(tensors[i]->dtype, tensors[i]->ndim, tensors[i]->shape);
  };
  for (std::size_t i = 0; i < size; ++i) {
    tessera_tensor& t = copies.tensors[i];
    t = *tensors[i];
    t.device = {TESSERA_CPU, 0};
    t.data = std::aligned_alloc(64, (bytes(i) / 64 + 1) * 64);
    copies.list[i] = &t;
    if (t.data == nullptr) return fail_memory();
    if (i >= static_cast<std::size_t>(inputs)) continue;
    if (std::int32_t s = api.copy(t.data, tensors[i]->data, bytes(i), call.stream, error)) return s;
  }
  if (std::int32_t status = api.synchronize(call.stream, error)) return status;
  tessera_call on_host = call;
  on_host.device = {TESSERA_CPU, 0};
  on_host.stream = nullptr;
  if (call.workspace_bytes > 0) {
    copies.workspace = std::aligned_alloc(64, (call.workspace_bytes + 63) / 64 * 64);
    on_host.workspace = copies.workspace;
    if (copies.workspace == nullptr) return fail_memory();
  }
  error->text[0] = '\0';  // the function speaks for itself
  if (std::int32_t status = fn(&on_host, copies.list.data(), count)) return status;
  for (auto i = static_cast<std::size_t>(inputs); i < size; ++i) {
    void* result = copies.tensors[i].data;
    if (std::int32_t s = api.copy(tensors[i]->data, result, bytes(i), call.stream, error)) return s;
  }
  return api.synchronize(call.stream, error);
}

}  // namespace
}  // namespace tessera::runtime

int32_t tessera_call_on_host(const tessera_frame* frame, tessera_backend_fn fn,
                             const tessera_call* call, tessera_tensor** tensors, int32_t inputs,
                             int32_t count) {
  using namespace tessera::runtime;
  const auto& instance = *static_cast<const tessera_instance*>(frame->instance);
  tessera_device_error error = {};
  const std::int32_t status = call_with_copies(instance, fn, *call, tensors, inputs, count, &error);
  if (status != 0 && error.text[0] != '\0') call->set_error(call, error.text);
  return status;
}

int32_t tessera_flag(const tessera_frame* frame, const void* scalar, int32_t* status) {
  using namespace tessera::runtime;
  auto& instance = *static_cast<tessera_instance*>(frame->instance);
  DeviceWork& work = instance.work;
  tessera_device_error error = {};
  void* stream = frame->call->stream;
  *status = work.api->copy(work.flag.data, scalar, 1, stream, &error);
  if (*status == TESSERA_OK) *status = work.api->synchronize(stream, &error);
  if (*status != TESSERA_OK) {
    frame->call->set_error(frame->call, error.text);
    return 0;
  }
  return *static_cast<const std::uint8_t*>(work.flag.data) != 0 ? 1 : 0;
}

int32_t tessera_set_flag(const tessera_frame* frame, void* scalar, int32_t value) {
  using namespace tessera::runtime;
  auto& instance = *static_cast<tessera_instance*>(frame->instance);
  DeviceWork& work = instance.work;
  tessera_device_error error = {};
  void* stream = frame->call->stream;
  *static_cast<std::uint8_t*>(work.flag.data) = static_cast<std::uint8_t>(value);
  std::int32_t status = work.api->copy(scalar, work.flag.data, 1, stream, &error);
  // The next flag goes through the same place.
  if (status == TESSERA_OK) status = work.api->synchronize(stream, &error);
  if (status != TESSERA_OK) frame->call->set_error(frame->call, error.text);
  return status;
}
