// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "runtime/device.h"

namespace tessera::runtime {

// Makes a device the calling thread's for as long as this lives; nothing where `api` is null. A
// device that cannot be chosen shows in the first call that needs it.
class DeviceScope {
 public:
  DeviceScope(const tessera_device_api* api, tessera_device device) : api_(api) {
    tessera_device_error ignored;
    if (api_ != nullptr && api_->enter(device.device_id, &previous_, &ignored) != TESSERA_OK) {
      api_ = nullptr;
    }
  }
  ~DeviceScope() {
    if (api_ != nullptr) api_->leave(previous_);
  }
  DeviceScope(const DeviceScope&) = delete;
  DeviceScope& operator=(const DeviceScope&) = delete;

 private:
  const tessera_device_api* api_;
  std::int32_t previous_ = 0;
};

}  // namespace tessera::runtime
