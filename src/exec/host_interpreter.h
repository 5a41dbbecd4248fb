// SPDX-License-Identifier: Apache-2.0
// Interprets a host program in this process: the second of the two executors. Kernels and back-end
// functions come from a kernel library; tables, states and memory are the runtime's, as in an
// exported library.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "exec/entry_tables.h"
#include "module/module.h"
#include "plan/plan.h"
#include "runtime/program.h"

namespace tessera::exec {

// A call that was made: its buffers as tensors, inputs and outputs in the order of the signature.
using CallObserver = std::function<void(const std::string& symbol, std::span<const Tensor> inputs,
                                        std::span<const Tensor> outputs)>;

class HostInterpreter {
 public:
  // `library` is the kernel library's tessera_model_program; `keep_alive` keeps it loaded. `module`
  // is the one that it was emitted for (constants are used in place), `plan` that of the module's
  // host program `entry`.
  HostInterpreter(std::shared_ptr<const Module> module, plan::MemoryPlan plan,
                  const tessera_program& library, std::shared_ptr<const void> keep_alive,
                  const std::string& entry = "main");
  HostInterpreter(const HostInterpreter&) = delete;
  HostInterpreter& operator=(const HostInterpreter&) = delete;

  // Called after each call of a run; views of the buffers, valid during the call. What lies on a
  // device is copied for it.
  void observe(CallObserver observer) {
    observer_ = std::move(observer);
    if (observer_) program_.replayable = 0;
  }

  // The library's tables with this interpreter as the entry; valid as long as this object.
  const tessera_program& program() const { return program_; }

 private:
  class Run;
  static std::int32_t run_entry(const tessera_frame* frame);
  static void output_shapes(void* context, const std::int64_t* dims, std::int64_t* shapes);
  static std::int64_t input_size(void* context, const std::int64_t* dims, std::int32_t input,
                                 std::int32_t dimension);

  std::shared_ptr<const Module> module_;
  plan::MemoryPlan plan_;
  const tir::PrimFunc& entry_;
  EntryTables tables_;
  std::shared_ptr<const void> library_;
  CallObserver observer_;
  tessera_program program_;
  std::vector<const void*> constant_data_;
  std::map<std::string, std::int32_t, std::less<>> externs_;       // index in the program's table
  std::map<std::string, tessera_kernel_fn, std::less<>> kernels_;  // generated ones
  std::vector<tessera_program_step> steps_;                        // in order of the text
  std::map<const tir::StmtNode*, std::int32_t> step_of_;
};

}  // namespace tessera::exec
