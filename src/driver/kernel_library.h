// SPDX-License-Identifier: Apache-2.0
// The kernels of a lowered module, compiled and loaded into this process; its host programs are
// interpreted.
#pragma once

#include <memory>
#include <string>

#include "driver/build.h"
#include "exec/host_interpreter.h"
#include "exec/session.h"
#include "link/load_library.h"

namespace tessera::driver {

class KernelLibrary {
 public:
  static Result<KernelLibrary> load(Lowered lowered, const emit::ProgramInfo& info,
                                    const MachineCode& code, link::Toolchain& toolchain);

  // The host program `entry` with its plan, ready to run; the session keeps what it needs.
  Result<std::unique_ptr<exec::Session>> open(const std::string& entry, plan::MemoryPlan plan,
                                              const exec::SessionOptions& options,
                                              exec::CallObserver observer = {}) const;
  // The same for `main` with the plan of the lowered module.
  Result<std::unique_ptr<exec::Session>> open_main(const exec::SessionOptions& options,
                                                   exec::CallObserver observer = {}) const {
    return open("main", main_plan_, options, std::move(observer));
  }

 private:
  std::shared_ptr<const Module> module_;
  plan::MemoryPlan main_plan_;
  std::shared_ptr<link::LoadedLibrary> library_;
  const tessera_program* program_ = nullptr;
  std::string metadata_;
};

}  // namespace tessera::driver
