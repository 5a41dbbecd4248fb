// SPDX-License-Identifier: Apache-2.0
// Where memory is: of which device, and what kind of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "types/target.h"

namespace tessera {

// kPinnedHost: the host's, which devices copy from and to without a buffer between. kConstant: what
// kernels only read.
enum class MemoryKind : std::uint8_t { kHost, kPinnedHost, kDevice, kConstant };

// Text: `host`, `pinned`, `cuda`, `cuda:1`; `constant` and `cuda:1/constant`.
struct MemorySpace {
  DeviceType device = DeviceType::kCpu;
  std::int32_t index = 0;  // of the devices of this kind
  MemoryKind kind = MemoryKind::kHost;

  bool operator==(const MemorySpace&) const = default;
};

// What the kernels of a device compute in, if nothing else is said.
MemorySpace main_memory(DeviceType device);
// Does the CPU address it?
bool is_on_host(const MemorySpace& space);

std::string to_string(const MemorySpace& space);
// `device` is another spelling of `cuda`.
std::optional<MemorySpace> parse_memory_space(std::string_view text);

}  // namespace tessera
