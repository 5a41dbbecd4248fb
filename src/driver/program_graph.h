// SPDX-License-Identifier: Apache-2.0
// A host program as a graph: what it calls, and the tensors from one call to another.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tessera::driver {

// One call of a kernel or of a region of a back end, in the order of the program's text.
struct ProgramCall {
  std::string symbol;
  std::vector<std::string> inputs, outputs;  // of the model, that it reads and gives
};

// `to` reads what `from` has written, or writes to it after that. `from` comes before `to`.
struct ProgramEdge {
  std::size_t from = 0, to = 0;
  std::vector<tir::Buffer> tensors;
};

struct ProgramGraph {
  std::vector<ProgramCall> calls;
  std::vector<ProgramEdge> edges;  // ascending, each pair of calls once
};

// Views are the tensors that they show. After a branch a tensor may be from either side; of a loop
// the edges are those within one iteration and of what comes before and after it.
ProgramGraph program_graph(const tir::PrimFunc& main);

}  // namespace tessera::driver
