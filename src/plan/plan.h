// SPDX-License-Identifier: Apache-2.0
// Memory planning of a host program (architecture section 9; relay-spec 8.8, 8.9): every allocation
// and every back end's workspace gets a byte offset in a pool. Those whose live ranges do not meet
// may share bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "module/module.h"
#include "tir/index_form.h"

namespace tessera::plan {

// Ticks count the program's statements in order; both ends are inclusive.
struct TickRange {
  std::int64_t first = 0, last = 0;
};

// Something that needs bytes for a time. A use inside a loop counts for the whole loop.
struct Need {
  std::string name;        // of the buffer, or "workspace of SYMBOL"
  std::int64_t bytes = 0;  // for the largest dimensions; -1: of the heap
  std::int64_t align_bytes = 64;
  std::vector<TickRange> live;  // ascending; a buffer has one, a workspace one for each call
};

struct Placement {
  std::string pool;
  std::int64_t offset = 0;
};

struct Pool {
  std::string name = "arena";
  std::int64_t limit_bytes = -1;         // -1: as large as needed
  std::int64_t bytes = 0;                // used, after planning
  DeviceType device = DeviceType::kCpu;  // whose memory
};

// Places needs, largest first (then by name); each at the lowest offset of the first pool where it
// fits beside those whose live ranges meet its own. Relay-spec 8.9 "greedy by size", with gaps
// filled.
Result<std::vector<Placement>> place_greedy_by_size(const std::vector<Need>& needs,
                                                    std::vector<Pool>& pools);

// The plan of one host program.
struct MemoryPlan {
  std::vector<Pool> pools;
  std::map<const tir::BufferNode*, Placement> buffers;  // Allocate statements of kGlobal scope
  // Those whose size has no bound or is decided after their definition: a piece of the instance's
  // heap, which grows; what never lives at the same time shares one.
  std::map<const tir::BufferNode*, int> heap;
  int heap_count = 0;
  std::map<std::string, Placement> workspaces;  // by extern symbol
  // Those that are asked for at create lie apart; for which sizes (plan/workspace_dims.h).
  std::map<std::string, std::vector<std::int64_t>> workspace_dims;
  std::vector<Need> needs;            // for reports, in order of allocation
  std::vector<Placement> placements;  // of `needs`
  std::int64_t pressure_bytes = 0;    // the most that lives at once
};

// Plans `main`'s allocations and the workspaces of the module's externs that it calls.
Result<MemoryPlan> plan_memory(const tir::PrimFunc& main, const Module& module);

// What is known of the formal dimensions of a host program: the ranges of the symbols of their
// names.
tir::Bounds dim_bounds(const tir::PrimFunc& main, const SymbolTable& symbols);

// What a program's tables say of a formal dimension and of an input or output (runtime/program.h).
struct ProgramSymbol {
  std::string name;
  std::int64_t min = 0, max = -1, step = 1;
};
ProgramSymbol program_symbol(const tir::Expr& dim, const SymbolTable& symbols);
struct PortShape {
  bool is_dynamic = false;
  std::vector<std::int64_t> shape, min, max;  // -1: known at run time; no bound
  std::vector<std::int32_t> symbols;          // index into the formal dimensions, or -1
};
// An output of a host program. Where its sizes depend on data, the program's outputs hold them,
// too.
struct ResultPort {
  tir::Buffer buffer;
  tir::Buffer sizes;  // or null
};
std::vector<ResultPort> result_ports(const tir::PrimFunc& main);
PortShape port_shape(const tir::BufferNode& buffer, const std::vector<tir::Expr>& dims,
                     const tir::Bounds& bounds);

// Text of a plan, one line a need.
std::string print_plan(const MemoryPlan& plan);

}  // namespace tessera::plan
