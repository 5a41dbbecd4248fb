// SPDX-License-Identifier: Apache-2.0
#include "schedule/rules.h"

namespace tessera::schedule {
using tir::Stmt;

Stmt schedule_inner(const Stmt& s, tir::Bounds outer, const Machine& machine) {
  if (const auto* allocation = s.as<tir::Allocate>()) {
    return tir::Allocate::make(allocation->buffer,
                               schedule_inner(allocation->body, outer, machine));
  }
  Nest nest = peel(s);
  if (as_reduction(nest.body)) return schedule_reduction(std::move(nest), outer, machine);
  if (!has_loop(nest.body)) return schedule_map(std::move(nest), outer, machine);
  for (const Loop& l : nest.loops) outer.set_loop(l.var, 0, l.extent);
  if (nest.body.as<tir::Allocate>() != nullptr) {
    return wrap(nest.loops, schedule_inner(nest.body, outer, machine));
  }
  const std::vector<Stmt> all = parts(nest.body);
  // A definition or a branch around loops, as a text may have it, is left as it is.
  if (nest.loops.empty() && all.size() == 1) return s;
  std::vector<Stmt> inside;
  for (const Stmt& part : all) inside.push_back(schedule_inner(part, outer, machine));
  return wrap(nest.loops, tir::seq(std::move(inside)));
}

}  // namespace tessera::schedule
