// SPDX-License-Identifier: Apache-2.0
// From memory of the host that the device cannot read by itself, such as the pages of a library's
// file, to memory of the device.
#pragma once

#include <cstdint>

#include "runtime/device.h"

namespace tessera::runtime {

// Two pieces of pinned memory in turns: the device copies from one while the other is filled, which
// is when pages are read that nobody has read before. Copies are in order with nothing else, and
// are done when finish() has succeeded.
class DeviceUpload {
 public:
  // Uploads `bytes` in all.
  DeviceUpload(const tessera_device_api& api, std::uint64_t bytes);
  ~DeviceUpload();
  DeviceUpload(const DeviceUpload&) = delete;
  DeviceUpload& operator=(const DeviceUpload&) = delete;

  // Statuses.
  std::int32_t copy(void* to, const void* from, std::uint64_t bytes);
  // Pinned memory for at most as many bytes as are uploaded in all, aligned to 64, and the copy of
  // what was written there: without one of the host's own before it.
  std::int32_t reserve(std::uint64_t bytes, void** memory);
  std::int32_t send(void* to, std::uint64_t bytes);
  std::int32_t finish();

 private:
  struct Piece {
    char* data;
    void* event;  // after the copies from it
    std::uint64_t used;
    bool is_read;  // perhaps still: the event tells
  };

  std::int32_t make_room(std::uint64_t bytes);
  std::int32_t set_up(Piece& piece);

  const tessera_device_api& api_;
  const std::uint64_t piece_bytes_;
  Piece pieces_[2] = {};
  int now_ = 0;
  tessera_device_error error_ = {};
};

}  // namespace tessera::runtime
