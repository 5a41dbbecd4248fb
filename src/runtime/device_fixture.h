// SPDX-License-Identifier: Apache-2.0
// A device whose memory is the host's, which counts what it is asked for; and the program of
// program_fixture.h on it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/device.h"
#include "runtime/program_fixture.h"

namespace tessera::runtime {

struct FakeCopy {
  void* to;
  const void* from;
  std::uint64_t bytes;
};

// What the device has been asked for.
struct FakeDevice {
  std::map<const void*, tessera_device> places;  // pieces of memory
  std::uint64_t free_bytes = 1 << 20;
  std::uint64_t elapsed_ns = 1000;  // between any two events
  int copies = 0, waits = 0, replays = 0, recordings = 0, graphs = 0, streams = 0, events = 0;
  int products = 0;
  bool has_driver = true, capturing = false, caller_captures = false, records = true,
       may_record = true;
  bool multiplies = true;
  // A device that copies as late as it may: when somebody waits for it.
  bool is_late = false;
  std::vector<FakeCopy> asked;  // of such a device
  std::size_t done = 0;         // of these
  std::size_t first_failing = ~std::size_t{0};

  void catch_up(std::size_t count) {
    for (; done < count; ++done) std::memcpy(asked[done].to, asked[done].from, asked[done].bytes);
  }
};
inline FakeDevice device;
// Packed weights are uploaded by several threads.
inline std::recursive_mutex device_mutex;
using DeviceLock = std::lock_guard<std::recursive_mutex>;
inline int own_stream, foreign_stream;

inline std::int32_t refuse(tessera_device_error* error, std::int32_t status, const char* text) {
  std::snprintf(error->text, sizeof error->text, "%s", text);
  return status;
}

inline std::int32_t allocate(std::uint64_t bytes, void** memory, tessera_device_error* error) {
  const DeviceLock lock(device_mutex);
  if (bytes > device.free_bytes) {
    return refuse(error, TESSERA_OUT_OF_MEMORY, "out of device memory");
  }
  *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  device.places[*memory] = {TESSERA_CUDA, 0};
  return TESSERA_OK;
}
inline std::int32_t allocate_host(std::uint64_t bytes, void** memory, tessera_device_error* error) {
  const DeviceLock lock(device_mutex);
  const std::int32_t status = allocate(bytes, memory, error);
  if (status == TESSERA_OK) device.places[*memory] = {TESSERA_CUDA_HOST, 0};
  return status;
}
inline void release(void* memory) {
  const DeviceLock lock(device_mutex);
  EXPECT_EQ(device.places.erase(memory), 1u);
  std::free(memory);
}
inline tessera_device place_of(const void* memory) {
  const auto it = device.places.find(memory);
  return it == device.places.end() ? tessera_device{TESSERA_CPU, 0} : it->second;
}
inline std::int32_t use_stream(void*, void* stream, tessera_device_error* error) {
  if (stream != &foreign_stream) return TESSERA_OK;
  return refuse(error, TESSERA_INVALID_ARGUMENT, "the stream cannot be used: of another device");
}

inline const tessera_device_api kApi = {
    .open = [](std::int32_t id, const char* arch, tessera_device_error* error) -> std::int32_t {
      EXPECT_STREQ(arch, "sm_90a");
      if (!device.has_driver) return refuse(error, TESSERA_WRONG_MACHINE, "there is no driver");
      return id == 0 ? std::int32_t{TESSERA_OK}
                     : refuse(error, TESSERA_WRONG_MACHINE, "there is no GPU of that number");
    },
    .enter = [](std::int32_t, std::int32_t*, tessera_device_error*) -> std::int32_t { return 0; },
    .leave = [](std::int32_t) {},
    .allocate = allocate,
    .release = release,
    .allocate_host = allocate_host,
    .release_host = release,
    .place_of = place_of,
    .create_stream = [](void** stream, tessera_device_error*) -> std::int32_t {
      ++device.streams;
      *stream = &own_stream;
      return TESSERA_OK;
    },
    .destroy_stream = [](void*) { --device.streams; },
    .copy = [](void* to, const void* from, std::uint64_t bytes, void*,
               tessera_device_error* error) -> std::int32_t {
      const DeviceLock lock(device_mutex);
      ++device.copies;
      if (!device.is_late) {
        std::memcpy(to, from, bytes);
        return TESSERA_OK;
      }
      device.asked.push_back({to, from, bytes});
      if (device.asked.size() <= device.first_failing) return TESSERA_OK;
      device.asked.pop_back();
      return refuse(error, TESSERA_KERNEL_FAILED, "memory cannot be copied");
    },
    .synchronize = [](void*, tessera_device_error*) -> std::int32_t {
      const DeviceLock lock(device_mutex);
      ++device.waits;
      device.catch_up(device.asked.size());
      return TESSERA_OK;
    },
    .create_event = [](void** event, tessera_device_error*) -> std::int32_t {
      const DeviceLock lock(device_mutex);
      ++device.events;
      *event = new std::size_t(0);  // copies before it
      return TESSERA_OK;
    },
    .destroy_event =
        [](void* event) {
          const DeviceLock lock(device_mutex);
          --device.events;
          delete static_cast<std::size_t*>(event);
        },
    .record_event = [](void* event, void* stream, tessera_device_error* error) -> std::int32_t {
      const DeviceLock lock(device_mutex);
      *static_cast<std::size_t*>(event) = device.asked.size();
      return use_stream(event, stream, error);
    },
    .wait_event = use_stream,
    .synchronize_event = [](void* event, tessera_device_error*) -> std::int32_t {
      const DeviceLock lock(device_mutex);
      device.catch_up(*static_cast<std::size_t*>(event));
      return TESSERA_OK;
    },
    .elapsed_ns = [](void*, void*, std::uint64_t* ns, tessera_device_error*) -> std::int32_t {
      *ns = device.elapsed_ns;
      return TESSERA_OK;
    },
    .is_capturing = [](void* stream) -> std::int32_t {
      return stream != &own_stream && device.caller_captures ? 1 : 0;
    },
    .begin_capture = [](void* stream, tessera_device_error*) -> std::int32_t {
      EXPECT_EQ(stream, &own_stream);
      device.capturing = true;
      ++device.recordings;
      return TESSERA_OK;
    },
    .end_capture = [](void*, void** graph, tessera_device_error* error) -> std::int32_t {
      device.capturing = false;
      *graph = nullptr;
      if (!device.records) return refuse(error, TESSERA_KERNEL_FAILED, "no");
      ++device.graphs;
      *graph = &device;
      return TESSERA_OK;
    },
    .launch_graph = [](void*, void*, tessera_device_error*) -> std::int32_t {
      ++device.replays;
      return TESSERA_OK;
    },
    .destroy_graph = [](void*) { --device.graphs; },
    .create_products = [](void** products, tessera_device_error* error) -> std::int32_t {
      *products = nullptr;
      if (!device.multiplies) return refuse(error, TESSERA_KERNEL_FAILED, "no products");
      ++device.products;
      *products = &device;
      return TESSERA_OK;
    },
    .destroy_products = [](void*) { --device.products; },
    .multiply = [](void*, std::int32_t of_float16, void*, std::uint64_t* flops,
                   tessera_device_error*) -> std::int32_t {
      *flops = of_float16 != 0 ? 8000 : 2000;
      return TESSERA_OK;
    },
};

class DeviceTest : public ::testing::Test, public ProgramFixture {
 protected:
  DeviceTest() {
    device = {};
    program.device_api = &kApi;
    program.device_arch = "sm_90a";
    program.device = {TESSERA_CUDA, 0};
    pool.device = program.device;
    program.replayable = 1;
  }
  ~DeviceTest() override {
    tessera_instance_destroy(instance_);
    tessera_model_destroy(model_);
    for (void* memory : mine_) release(memory);
    EXPECT_TRUE(device.places.empty());
    EXPECT_EQ(device.streams + device.events + device.graphs + device.products, 0);
  }

  std::int32_t try_create(const tessera_instance_options* options = nullptr) {
    EXPECT_EQ(tessera_model_create_from(&program, {}, nullptr, &model_), TESSERA_OK);
    return tessera_instance_create(model_, options, &instance_);
  }
  void create(const tessera_instance_options* options = nullptr) {
    ASSERT_EQ(try_create(options), TESSERA_OK) << tessera_last_error();
  }
  std::int32_t run() { return tessera_instance_run(instance_, &in_, 1, out_, 2); }
  std::int32_t run_on_stream(void* stream) {
    return tessera_instance_run_on_stream(instance_, stream, &in_, 1, out_, 2);
  }
  void* on_device(std::uint64_t bytes) {
    tessera_device_error error;
    void* memory = nullptr;
    allocate(bytes, &memory, &error);
    mine_.push_back(memory);
    return memory;
  }
  // The input in the device's memory.
  void use_device_input() {
    in_.data = on_device(sizeof x_);
    std::memcpy(in_.data, x_, sizeof x_);
    in_.device = {TESSERA_CUDA, 0};
  }

  tessera_model* model_ = nullptr;
  tessera_instance* instance_ = nullptr;
  std::vector<void*> mine_;
  alignas(64) float x_[6] = {10, 20, 30, 40, 50, 60};
  std::int64_t in_shape_[2] = {2, 3};
  tessera_tensor in_ = {x_, {TESSERA_CPU, 0}, 2, kFloat32, in_shape_, nullptr, 0};
  tessera_tensor out_[2] = {};
};

}  // namespace tessera::runtime
