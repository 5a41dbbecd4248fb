// SPDX-License-Identifier: Apache-2.0
// Many programs in one library file: candidates of a search, as other processes measure them.
#pragma once

#include <map>
#include <string>

#include "driver/build.h"
#include "driver/program_timing.h"
#include "support/files.h"

namespace tessera::driver {

class EntryFile {
 public:
  // Every function of the module that is not Primitive becomes an entry, as lower::lower has it.
  // Types are inferred, and all calls that back ends take have been compiled.
  static Result<EntryFile> build(Module module, const Target& cpu, const MachineCode& code,
                                 link::Toolchain& toolchain,
                                 schedule::MeasuredAlgorithms* measured = nullptr);

  // By name. The file lives as long as this object.
  const std::map<std::string, LibraryProgram>& programs() const { return programs_; }

 private:
  explicit EntryFile(TempDir folder) : folder_(std::move(folder)) {}

  TempDir folder_;
  std::map<std::string, LibraryProgram> programs_;
};

}  // namespace tessera::driver
