// SPDX-License-Identifier: Apache-2.0
// The live ranges of the buffers and workspaces of a host program.
#pragma once

#include <map>
#include <vector>

#include "module/module.h"
#include "plan/plan.h"

namespace tessera::plan {

struct Liveness {
  std::vector<Need> needs;  // in order of allocation
  std::map<const tir::BufferNode*, std::size_t>
      of_buffer;                                    // index into needs; views share their source's
  std::map<std::string, std::size_t> of_workspace;  // by extern symbol
};

// An allocation's live range goes from its first to its last use, through all views of it.
Liveness compute_liveness(const tir::PrimFunc& main, const Module& module);

}  // namespace tessera::plan
