// SPDX-License-Identifier: Apache-2.0
// What is known of variables, and what has been found out with it.
#include "tir/index_form.h"

namespace tessera::tir {

IndexMemo::Entry& IndexMemo::of(const Expr& e) {
  constexpr std::size_t kMost = 20'000;  // what is larger than that is not asked for much longer
  if (entries_.size() >= kMost) entries_.clear();
  Entry& entry = entries_[e.get()];
  entry.key = e;
  return entry;
}

void Bounds::set(const Expr& var, Interval range) {
  ranges_[var.get()] = range;
  memo_.clear();
}

void Bounds::set_loop(const Expr& var, const Expr& min, const Expr& extent) {
  const Interval low = range_of(index_form(min, *this), *this);
  const Interval size = range_of(index_form(extent, *this), *this);
  Interval range{low.min, Interval::kAny};
  if (low.has_max() && size.has_max()) range.max = low.max + size.max - 1;
  set(var, range);
}

void Bounds::set_size(const Expr& var) {
  set(var, {0, Interval::kAny});
  sizes_.insert(var.get());
}

Interval Bounds::of(const Expr& var) const {
  const auto it = ranges_.find(var.get());
  return it == ranges_.end() ? Interval{} : it->second;
}

}  // namespace tessera::tir
