// SPDX-License-Identifier: Apache-2.0
// A list that says of any two of its members which comes first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tessera::byoc {

class UnitOrder {
 public:
  explicit UnitOrder(std::size_t count)
      : label_(count, 0), next_(count, kNone), previous_(count, kNone) {}

  bool before(std::uint32_t a, std::uint32_t b) const { return label_[a] < label_[b]; }
  void append(std::uint32_t unit);
  // Members in their present order, moved before another one.
  void move_before(std::span<const std::uint32_t> units, std::uint32_t place);
  void remove(std::uint32_t unit);
  // `unit`, no member, takes the place of `old`.
  void replace(std::uint32_t old, std::uint32_t unit);

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  static constexpr std::uint64_t kGap = std::uint64_t{1} << 32;

  void link(std::uint32_t a, std::uint32_t b);
  void relabel();

  std::vector<std::uint64_t> label_;
  std::vector<std::uint32_t> next_, previous_;
  std::uint32_t first_ = kNone, last_ = kNone;
};

}  // namespace tessera::byoc
