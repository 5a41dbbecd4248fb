// SPDX-License-Identifier: Apache-2.0
// Many programs over one kernel library (architecture section 3): compiled together, run one by
// one in this process. Samples of operators are tested so.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "driver/kernel_library.h"

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
  KernelLibrary kernels_;
  emit::EntryPlans plans_;
};

// The module of entries with all code in the loop IR or in artifacts, and the plan of each.
Result<Module> lower_entries(Module module, const Target& cpu, emit::EntryPlans& plans,
                             schedule::MeasuredAlgorithms* measured = nullptr);
// What libraries of entries say of themselves: nothing is exported.
emit::ProgramInfo program_info_of_entries(const Target& cpu, const MachineCode& code);

}  // namespace tessera::driver
