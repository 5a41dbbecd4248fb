// SPDX-License-Identifier: Apache-2.0
// One compilation: the stages in order, each timed and announced (architecture section 1).
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "driver/build.h"
#include "driver/collage_placer.h"
#include "driver/compile.h"
#include "driver/kernel_library.h"
#include "driver/placement.h"
#include "exec/host_interpreter.h"

namespace tessera::driver {

class Compilation {
 public:
  Compilation(const CompileOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  // The graph, cut into regions of back ends.
  Result<Partitioned> partition();
  // The model with all code in the loop IR or in artifacts.
  Result<Lowered> front_half();
  Result<void> make_library();
  // Verifies what was lowered, where that is asked for, and writes it to options.output.
  Result<void> finish(const Lowered& lowered);
  // What was lowered, loaded into this process.
  Result<std::unique_ptr<exec::Session>> start(Lowered lowered, const exec::SessionOptions& session,
                                               exec::CallObserver observer = {});
  Result<KernelLibrary> load(Lowered lowered);
  // Measures what has no record, and makes no library.
  Result<void> tune();

  void warn_of_cache();  // once
  // A failure comes with the warnings before it, which may say why; not with those that it repeats.
  Diagnostics with_warnings(Diagnostics problems);
  // The build id names what went in: the same input, options and compiler give the same id.
  emit::ProgramInfo program_info(const Lowered& lowered) const;
  // Ends a stage, which has taken the time since the one before.
  void done(std::string stage, const std::string& what);

  CompileReport report;
  // The plan that was searched, before any back end declined a part of it. It is no part of the
  // report before whole plans were compared, as the build id is of the report.
  std::optional<CollageReport> searched;

 private:
  using Clock = std::chrono::steady_clock;

  void add_warnings(std::vector<Diagnostic> warnings);
  Result<link::Toolchain> find_toolchain() const;
  bool tells_slow_code() const;
  byoc::Placer& placer() { return collage_ ? static_cast<byoc::Placer&>(*collage_) : greedy_; }
  Result<void> measure_tasks(const std::vector<byoc::TuningTask>& tasks);
  // What is measured is measured before it is read.
  Result<Module> place(Partitioned parts);
  // --verify: one run in this process on random inputs, every distinct call compared on the way.
  Result<void> verify(const Lowered& lowered);
  // The same inputs through the model as it came.
  Result<void> compare_with_float32(const std::vector<exec::PortInfo>& ports,
                                    const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& outputs);
  Result<void> write_library(const Lowered& lowered);
  Result<void> write_report(const Lowered& lowered, const std::vector<std::string>& objects);
  void collect_libraries(const Module& module);

  CompileOptions options_;
  const Progress progress_;
  Clock::time_point begin_, stage_begin_;
  std::optional<link::Toolchain> toolchain_;
  MachineCode code_;
  PlacementFacts facts_;
  byoc::GreedyPlacer greedy_;
  std::optional<CollagePlacer> collage_;  // instead, where it is asked for
  bool warned_of_cache_ = false;
};

}  // namespace tessera::driver
