// SPDX-License-Identifier: Apache-2.0
// For which device plans are made: the one of a handle, or one that is described and need not be
// there.
#pragma once

#include <string_view>

#include "backends/cudnn/runtime/descriptor.h"

namespace tessera::backends::cudnn {

// Describing devices came with this version.
inline constexpr std::size_t kFirstWithDescriptions = 90800;

class Device {
 public:
  Device() = default;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  // The current device of this thread.
  [[nodiscard]] bool open(const Api& api, TextBuffer* error);
  // One of these properties, in cuDNN's JSON.
  [[nodiscard]] bool describe(const Api& api, std::string_view properties, TextBuffer* error);

  const Api& api() const { return *api_; }
  cudnnHandle_t handle() const { return handle_; }  // null: described

  // Tells a descriptor which device it is for, under the name that it has for a handle or for a
  // description.
  void set_on(Descriptor& descriptor, cudnnBackendAttributeName_t described) const;
  void set_on(Descriptor& descriptor, cudnnBackendAttributeName_t handle,
              cudnnBackendAttributeName_t described) const;

 private:
  const Api* api_ = nullptr;
  cudnnHandle_t handle_ = nullptr;
  Descriptor description_;
};

}  // namespace tessera::backends::cudnn
