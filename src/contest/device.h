// SPDX-License-Identifier: Apache-2.0
// The device that ways are measured on, through the runtime's table of functions. What fails is no
// way's fault and is thrown, but where a status is returned: that of work in the stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/device.h"

namespace tessera::contest {

// CUDA's table; null: this tessera was built without CUDA. To ask it for anything but this is to
// start CUDA in the process.
const tessera_device_api* cuda_device();

class Device {
 public:
  // Number 0, for code of an architecture ("sm_90a").
  Device(const tessera_device_api& api, const std::string& arch);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  void* stream() const { return stream_; }
  // Lasts as long as this.
  void* allocate(std::uint64_t bytes);
  void* upload(std::span<const std::byte> bytes);
  // Puts the copy into the stream.
  void copy(void* to, const void* from, std::uint64_t bytes);
  // Copies to the host's memory; what work before it did wrong is the answer, or "".
  std::string download(void* to, const void* from, std::uint64_t bytes);
  std::string synchronize();

  // What `work` puts into the stream, to be replayed; null where it cannot be recorded, and then
  // `why` says so.
  template <class Function>
  std::shared_ptr<void> record(const Function& work, std::string& why) {
    begin_recording();
    why = work();
    return end_recording(why);
  }
  // Replays it so often for nobody, and then so often for the time, which is that of one replay.
  std::string replay(void* graph, int untimed, int timed, double& us);

 private:
  void must(std::int32_t status, const char* what) const;
  void begin_recording();
  std::shared_ptr<void> end_recording(std::string& why);

  const tessera_device_api& api_;
  tessera_device_error error_ = {};
  std::vector<void*> memory_;
  void *stream_ = nullptr, *from_ = nullptr, *to_ = nullptr;
};

}  // namespace tessera::contest
