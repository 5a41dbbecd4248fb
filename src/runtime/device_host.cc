// SPDX-License-Identifier: Apache-2.0
// What the CPU does for a program on a device: functions that exist for it alone and kernels that
// find sizes, with copies of their tensors, and the scalars that branches and loops depend on.
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

// While the caller records the stream the host cannot wait for what is in it.
bool may_wait(const tessera_frame& frame, const DeviceWork& work) {
  if (work.api->is_capturing(frame.call->stream) == 0) return true;
  frame.call->set_error(frame.call,
                        "the stream is being captured, but the program reads data of the device "
                        "to go on: run it outside of the capture");
  return false;
}

constexpr std::uint64_t kCopyAlign = 64;
std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + kCopyAlign - 1) / kCopyAlign * kCopyAlign;
}

// The kernel's list of buffers, then the copies, in one block that stays for later runs.
std::int32_t reserve_copies(tessera_instance& instance, std::uint64_t bytes) {
  Block& copies = instance.work.copies;
  if (copies.bytes >= bytes) return TESSERA_OK;
  release_block(instance, &copies);
  return allocate_block(instance, {TESSERA_CUDA_HOST, instance.device.device_id}, bytes, kCopyAlign,
                        "tensors that the CPU reads", &copies);
}

}  // namespace
}  // namespace tessera::runtime

int32_t tessera_kernel_on_host(const tessera_frame* frame, tessera_kernel_fn fn,
                               void* const* buffers, const int64_t* bytes, int32_t inputs,
                               int32_t count, const int64_t* dims) {
  using namespace tessera::runtime;
  auto& instance = *static_cast<tessera_instance*>(frame->instance);
  const tessera_device_api& api = *instance.work.api;
  if (!may_wait(*frame, instance.work)) return TESSERA_INVALID_ARGUMENT;
  const std::uint64_t list_bytes = padded(static_cast<std::uint64_t>(count) * sizeof(void*));
  std::uint64_t all = list_bytes;
  for (std::int32_t i = 0; i < inputs; ++i) all += padded(static_cast<std::uint64_t>(bytes[i]));
  if (std::int32_t status = reserve_copies(instance, all)) {
    frame->call->set_error(frame->call, tessera_last_error());
    return status;
  }
  auto* const list = static_cast<void**>(instance.work.copies.data);
  char* at = static_cast<char*>(instance.work.copies.data) + list_bytes;
  tessera_device_error error = {};
  std::int32_t status = TESSERA_OK;
  for (std::int32_t i = 0; i < count; ++i) {
    list[i] = i < inputs ? at : buffers[i];
    if (i >= inputs) continue;
    const auto size = static_cast<std::uint64_t>(bytes[i]);
    if (status == TESSERA_OK) {
      status = api.copy(at, buffers[i], size, frame->call->stream, &error);
    }
    at += padded(size);
  }
  if (status == TESSERA_OK) status = api.synchronize(frame->call->stream, &error);
  if (status != TESSERA_OK) {
    frame->call->set_error(frame->call, error.text);
    return status;
  }
  tessera_call on_host = *frame->call;
  on_host.device = {TESSERA_CPU, 0};
  on_host.stream = nullptr;
  return fn(list, dims, &on_host);
}

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
  if (!may_wait(*frame, work)) {
    *status = TESSERA_INVALID_ARGUMENT;
    return 0;
  }
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
