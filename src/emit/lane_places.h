// SPDX-License-Identifier: Apache-2.0
// Where the lanes of a vectorised loop read and write.
#pragma once

#include <optional>
#include <vector>

#include "emit/flat_offset.h"
#include "tir/expr_ops.h"
#include "tir/index_form.h"
#include "tir/stmt.h"
#include "tir/walk.h"

namespace tessera::emit {

struct LanePlace {
  tir::Buffer buffer;
  std::vector<tir::Expr> indices;
};

// Places in memory as sums, seen from the loop.
class LanePlaces {
 public:
  LanePlaces(const tir::For& loop, const tir::Bounds& bounds) : loop_(loop), bounds_(bounds) {}

  // Elements from one lane to the next; nothing where that is no number.
  std::optional<std::int64_t> step(const LanePlace& p) const {
    const tir::IndexForm place = form(p);
    if (place.hides(loop_.var)) return std::nullopt;
    return place.coefficient(loop_.var);
  }
  bool is_next(const LanePlace& before, const LanePlace& p) const {
    if (before.buffer != p.buffer) return false;
    const tir::IndexForm gap = tir::add(form(p), form(before), -1);
    return gap.terms.empty() && gap.constant == 1;
  }
  // That of the first lane.
  LanePlace first(const LanePlace& p) const {
    std::vector<tir::Expr> indices;
    for (const tir::Expr& e : p.indices) {
      indices.push_back(tir::substitute(e, {{loop_.var.get(), loop_.min}}));
    }
    return {p.buffer, std::move(indices)};
  }

 private:
  tir::IndexForm form(const LanePlace& p) const {
    return tir::index_form(flat_offset(p.buffer, p.indices), bounds_);
  }

  const tir::For& loop_;
  const tir::Bounds& bounds_;
};

}  // namespace tessera::emit
