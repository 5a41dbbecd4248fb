// SPDX-License-Identifier: Apache-2.0
// Typed 32-bit ids: an index into a vector of one kind of thing, which cannot be mistaken for
// another.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace tessera {

// `struct NodeTag; using NodeId = Id<NodeTag>;` A default-made id is invalid and converts to false.
template <class Tag>
struct Id {
  static constexpr std::uint32_t kInvalid = 0xffffffffu;
  std::uint32_t value = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr explicit Id(int v) : value(static_cast<std::uint32_t>(v)) {}
  constexpr std::uint32_t index() const { return value; }
  constexpr explicit operator bool() const { return value != kInvalid; }
  constexpr auto operator<=>(const Id&) const = default;
};

}  // namespace tessera

template <class Tag>
struct std::hash<tessera::Id<Tag>> {
  std::size_t operator()(tessera::Id<Tag> id) const noexcept { return id.value; }
};
