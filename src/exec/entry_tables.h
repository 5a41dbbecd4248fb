// SPDX-License-Identifier: Apache-2.0
// The tables of runtime/program.h that belong to an entry function rather than to the kernel
// library that it calls: inputs and outputs, pools, where workspaces lie.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "module/module.h"
#include "plan/plan.h"
#include "runtime/program.h"
#include "tir/prim_func.h"

namespace tessera::exec {

class EntryTables {
 public:
  // `entry` must outlive the tables: its names are used in place. Its last inputs are the kept
  // weights.
  EntryTables(const tir::PrimFunc& entry, const plan::MemoryPlan& plan, const SymbolTable& symbols,
              std::span<const KeptWeight> kept, const tessera_program& library);
  EntryTables(const EntryTables&) = delete;
  EntryTables& operator=(const EntryTables&) = delete;

  // Valid as long as this object.
  void put_into(tessera_program& program) const;

 private:
  void add_places(const tir::PrimFunc& entry, std::size_t kept);

  std::vector<std::string> names_;  // of symbols
  std::vector<tessera_program_symbol> symbols_;
  std::vector<plan::PortShape> ports_;
  std::vector<tessera_program_io> inputs_, outputs_;
  std::vector<std::int32_t> kept_;  // constants
  std::vector<tessera_program_pool> pools_;
  std::vector<tessera_program_extern> externs_;
  std::vector<tessera_program_place> places_;  // of inputs and then outputs
  plan::MemoryPlan plan_;                      // owns the pools' names
};

}  // namespace tessera::exec
