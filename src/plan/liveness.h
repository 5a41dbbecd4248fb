// SPDX-License-Identifier: Apache-2.0
// The live ranges of the buffers and workspaces of a host program.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "module/module.h"
#include "plan/problem.h"

namespace tessera::plan {

struct Liveness {
  std::vector<Need> needs;  // in order of allocation
  std::map<const tir::BufferNode*, std::size_t>
      of_buffer;                                    // index into needs; views share their source's
  std::map<std::string, std::size_t> of_workspace;  // by extern symbol
};

// Inputs and outputs of a program, which its caller holds unless they are given here.
struct Ports {
  std::span<const tir::Buffer> inputs = {}, outputs = {};
};
// Those that can have places: all that a run is given, and what it gives.
Ports ports_of(const tir::PrimFunc& main, const Module& module);

// An allocation's live range goes from its first to its last use, through all views of it; that of
// an input begins with the program, and that of an output ends behind it.
Liveness compute_liveness(const tir::PrimFunc& main, const Module& module, const Ports& ports = {});
// The same with what the loop functions that it calls allocate. A function that is called twice has
// one place for a buffer, which lives during each of the calls.
Liveness compute_liveness_of_all(const tir::PrimFunc& main, const Module& module);

}  // namespace tessera::plan
