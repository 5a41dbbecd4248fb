// SPDX-License-Identifier: Apache-2.0
#include "types/memory_space.h"

#include <charconv>

namespace tessera {
namespace {

// What stands before the number and the kind.
std::optional<MemorySpace> space_of_word(std::string_view word) {
  if (word == "host") return MemorySpace{};
  if (word == "pinned") return MemorySpace{DeviceType::kCpu, 0, MemoryKind::kPinnedHost};
  if (word == "constant") return MemorySpace{DeviceType::kCpu, 0, MemoryKind::kConstant};
  if (word == "cuda" || word == "device") return main_memory(DeviceType::kCuda);
  return std::nullopt;
}

std::string_view word_of(const MemorySpace& space) {
  if (space.device != DeviceType::kCpu) return to_string(space.device);
  return space.kind == MemoryKind::kConstant     ? "constant"
         : space.kind == MemoryKind::kPinnedHost ? "pinned"
                                                 : "host";
}

}  // namespace

MemorySpace main_memory(DeviceType device) {
  return {device, 0, device == DeviceType::kCpu ? MemoryKind::kHost : MemoryKind::kDevice};
}

bool is_on_host(const MemorySpace& space) { return space.device == DeviceType::kCpu; }

std::string to_string(const MemorySpace& space) {
  std::string text(word_of(space));
  if (space.index != 0) text += ":" + std::to_string(space.index);
  if (!is_on_host(space) && space.kind == MemoryKind::kConstant) text += "/constant";
  return text;
}

std::optional<MemorySpace> parse_memory_space(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::string_view place = text.substr(0, slash);
  const std::size_t colon = place.find(':');
  std::optional<MemorySpace> space = space_of_word(place.substr(0, colon));
  if (!space) return std::nullopt;
  if (slash != std::string_view::npos) {
    if (is_on_host(*space) || text.substr(slash + 1) != "constant") return std::nullopt;
    space->kind = MemoryKind::kConstant;
  }
  if (colon != std::string_view::npos) {
    if (is_on_host(*space)) return std::nullopt;  // there is one host
    const char* end = place.data() + place.size();
    const auto [last, failure] = std::from_chars(place.data() + colon + 1, end, space->index);
    if (failure != std::errc() || last != end || space->index < 0) return std::nullopt;
  }
  return space;
}

}  // namespace tessera
