// SPDX-License-Identifier: Apache-2.0
// Many programs over one kernel library (architecture section 3): compiled together, run one by
// one. Samples of operators are tested so, and candidates of a search measured.
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
  // Of the inputs of an entry, at the likely sizes.
  std::vector<std::vector<std::int64_t>> likely_shapes(const std::string& entry) const;
  // What `entry` of names() computes, ready to run.
  Result<std::unique_ptr<exec::Session>> open(const std::string& entry,
                                              const exec::SessionOptions& options) const;

 private:
  KernelLibrary kernels_;
  std::map<std::string, plan::MemoryPlan> plans_;
};

}  // namespace tessera::driver
