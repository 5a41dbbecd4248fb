// SPDX-License-Identifier: Apache-2.0
#include "byoc/unit_order.h"

namespace tessera::byoc {

void UnitOrder::link(std::uint32_t a, std::uint32_t b) {
  (a == kNone ? first_ : next_[a]) = b;
  (b == kNone ? last_ : previous_[b]) = a;
}

void UnitOrder::append(std::uint32_t unit) {
  label_[unit] = (last_ == kNone ? 0 : label_[last_]) + kGap;
  link(last_, unit);
  link(unit, kNone);
}

void UnitOrder::remove(std::uint32_t unit) { link(previous_[unit], next_[unit]); }

void UnitOrder::replace(std::uint32_t old, std::uint32_t unit) {
  label_[unit] = label_[old];
  const std::uint32_t before = previous_[old], after = next_[old];
  link(before, unit);
  link(unit, after);
}

void UnitOrder::move_before(std::span<const std::uint32_t> units, std::uint32_t place) {
  if (units.empty()) return;
  for (const std::uint32_t unit : units) remove(unit);
  std::uint32_t at = previous_[place];
  const std::uint64_t low = at == kNone ? 0 : label_[at];
  const std::uint64_t step = (label_[place] - low) / (units.size() + 1);
  std::uint64_t label = low;
  for (const std::uint32_t unit : units) {
    label_[unit] = label += step;
    link(at, unit);
    at = unit;
  }
  link(at, place);
  if (step == 0) relabel();
}

void UnitOrder::relabel() {
  std::uint64_t label = 0;
  for (std::uint32_t unit = first_; unit != kNone; unit = next_[unit]) label_[unit] = label += kGap;
}

}  // namespace tessera::byoc
