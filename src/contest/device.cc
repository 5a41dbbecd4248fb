// SPDX-License-Identifier: Apache-2.0
#include "contest/device.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#ifdef TESSERA_HAS_CUDA_DEVICE
extern "C" {
extern const tessera_device_api tessera_cuda_device;
}
#endif

namespace tessera::contest {

const tessera_device_api* cuda_device() {
#ifdef TESSERA_HAS_CUDA_DEVICE
  return &tessera_cuda_device;
#else
  return nullptr;
#endif
}

Device::Device(const tessera_device_api& api, const std::string& arch) : api_(api) {
  std::int32_t previous = 0;
  must(api_.open(0, arch.c_str(), &error_), "the GPU");
  must(api_.enter(0, &previous, &error_), "the GPU");
  must(api_.create_stream(&stream_, &error_), "a stream");
  for (void** event : {&from_, &to_}) must(api_.create_event(event, &error_), "an event");
}

Device::~Device() {
  for (void* event : {from_, to_}) api_.destroy_event(event);
  api_.destroy_stream(stream_);
  for (void* memory : memory_) api_.release(memory);
}

void Device::must(std::int32_t status, const char* what) const {
  if (status != TESSERA_OK) throw std::runtime_error(fmt::format("{}: {}", what, error_.text));
}

void* Device::allocate(std::uint64_t bytes) {
  void* memory = nullptr;
  must(api_.allocate(std::max<std::uint64_t>(bytes, 1), &memory, &error_), "memory");
  memory_.push_back(memory);
  return memory;
}

void* Device::upload(std::span<const std::byte> bytes) {
  void* memory = allocate(bytes.size());
  copy(memory, bytes.data(), bytes.size());
  must(api_.synchronize(stream_, &error_), "a copy");
  return memory;
}

void Device::copy(void* to, const void* from, std::uint64_t bytes) {
  if (bytes > 0) must(api_.copy(to, from, bytes, stream_, &error_), "a copy");
}

std::string Device::download(void* to, const void* from, std::uint64_t bytes) {
  if (bytes > 0 && api_.copy(to, from, bytes, stream_, &error_) != TESSERA_OK) return error_.text;
  return synchronize();
}

std::string Device::synchronize() {
  return api_.synchronize(stream_, &error_) == TESSERA_OK ? "" : error_.text;
}

void Device::begin_recording() { must(api_.begin_capture(stream_, &error_), "a recording"); }

std::shared_ptr<void> Device::end_recording(std::string& why) {
  void* graph = nullptr;
  const std::int32_t status = api_.end_capture(stream_, &graph, &error_);
  const auto destroy = [api = &api_](void* recorded) {
    if (recorded != nullptr) api->destroy_graph(recorded);
  };
  std::shared_ptr<void> recorded(graph, destroy);
  if (why.empty() && status != TESSERA_OK) why = error_.text;
  return why.empty() ? recorded : nullptr;
}

std::string Device::replay(void* graph, int untimed, int timed, double& us) {
  const auto launch = [&](int times) {
    for (int i = 0; i < times; ++i) {
      if (api_.launch_graph(graph, stream_, &error_) != TESSERA_OK) return false;
    }
    return true;
  };
  std::uint64_t ns = 0;
  const bool ok = launch(untimed) && api_.record_event(from_, stream_, &error_) == TESSERA_OK &&
                  launch(timed) && api_.record_event(to_, stream_, &error_) == TESSERA_OK &&
                  api_.synchronize(stream_, &error_) == TESSERA_OK &&
                  api_.elapsed_ns(from_, to_, &ns, &error_) == TESSERA_OK;
  us = static_cast<double>(ns) * 1e-3 / timed;
  return ok ? "" : error_.text;
}

}  // namespace tessera::contest
