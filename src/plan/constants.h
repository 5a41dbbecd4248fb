// SPDX-License-Identifier: Apache-2.0
// Where the constants of a program lie: in pools of their own, which only they are in, one behind
// the other in the library. All of them live from the first statement to the last.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "module/module.h"
#include "plan/problem.h"

namespace tessera::plan {

// What instructions may ask of the address of a constant.
inline constexpr std::int64_t kConstantAlignBytes = 64;

struct ConstantPlan {
  std::vector<Pool> pools;
  std::vector<std::int64_t> begins;   // of the pools in the library's section of weights
  std::vector<Need> needs;            // one for all constants of the same bytes
  std::vector<Placement> placements;  // of `needs`; pool -1: lies in none
  // By module, then by ConstantIndex; -1: nobody reads it.
  std::vector<std::vector<std::int32_t>> need_of;
  std::int64_t bytes = 0;  // of the section

  bool has_place(std::size_t need) const { return placements[need].pool >= 0; }
  // Of a need in the section.
  std::int64_t offset(std::size_t need) const {
    return begins[static_cast<std::size_t>(placements[need].pool)] + placements[need].offset;
  }
};

// Each constant that loop functions, artifacts or kept weights of modules in one library name lies
// in the first of the pools for constants that has room for it; where there is no such pool, in one
// of any size.
Result<ConstantPlan> plan_constants(std::span<const Module* const> modules,
                                    std::span<const Pool> pools);
Result<ConstantPlan> plan_constants(const Module& module, std::span<const Pool> pools);
// By ConstantIndex: does the host program read it, or a kernel or back end that it calls?
std::vector<bool> constants_of(const Module& module, const tir::PrimFunc& program);
// The same plan with places for the other needs alone.
Result<ConstantPlan> without_places_of(const std::set<std::int32_t>& needs, ConstantPlan plan);

}  // namespace tessera::plan
