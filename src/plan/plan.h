// SPDX-License-Identifier: Apache-2.0
// Memory planning of a host program: every allocation and every back end's workspace gets a byte
// offset in a pool. Those whose live ranges do not meet may share bytes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "diagnostics/diagnostic.h"
#include "module/module.h"
#include "plan/constants.h"
#include "plan/options.h"
#include "plan/problem.h"
#include "tir/index_form.h"

namespace tessera::plan {

// Where an input or output lies, unless the caller has it elsewhere.
struct PortPlace {
  Placement at;
  std::int64_t bytes = 0;  // for the largest dimensions
};

// The plan of one host program.
struct MemoryPlan {
  std::vector<Pool> pools;
  std::map<const tir::BufferNode*, Placement> buffers;  // Allocate statements of kGlobal scope
  // Inputs and outputs, where the options ask for places.
  std::map<const tir::BufferNode*, PortPlace> ports;
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
  ConstantPlan constants;
};

// Plans `main`'s allocations and the workspaces of the module's externs that it calls.
Result<MemoryPlan> make_plan(const tir::PrimFunc& main, const Module& module,
                             const PlanOptions& options = {});

// Of all pools together.
std::int64_t pool_bytes(const MemoryPlan& plan);

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
