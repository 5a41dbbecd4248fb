// SPDX-License-Identifier: Apache-2.0
// Many programs over one kernel library (architecture section 3): compiled together, run one by
// one. Samples of operators are tested so, and candidates of a search measured.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/machine_code.h"
#include "exec/session.h"
#include "link/load_library.h"
#include "link/toolchain.h"
#include "module/module.h"
#include "plan/plan.h"

namespace tessera::driver {

class EntryLibrary {
 public:
  // Every function of the module that is not Primitive becomes an entry, as lower::lower has it.
  // Types are inferred, and all calls that back ends take have been compiled.
  static Result<EntryLibrary> build(Module module, const Target& cpu, const MachineCode& code,
                                    link::Toolchain& toolchain);

  std::vector<std::string> names() const;
  // What `entry` of names() computes, ready to run.
  Result<std::unique_ptr<exec::Session>> open(const std::string& entry,
                                              const exec::SessionOptions& options) const;

 private:
  std::shared_ptr<const Module> module_;  // lowered
  std::map<std::string, plan::MemoryPlan> plans_;
  std::shared_ptr<link::LoadedLibrary> library_;
  const tessera_program* program_ = nullptr;
};

}  // namespace tessera::driver
