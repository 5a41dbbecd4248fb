// SPDX-License-Identifier: Apache-2.0
// One compilation: the stages in order, each timed and announced (architecture section 1).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/build.h"
#include "driver/collage_placer.h"
#include "driver/compile.h"
#include "driver/kernel_library.h"
#include "driver/placement.h"
#include "driver/recorded_parts.h"
#include "exec/host_interpreter.h"

namespace tessera::driver {

// A model as it is placed: imported and optimised, and what was said of that.
struct Prepared {
  Module module;
  CompileReport report;
  LimitBindings limits;
  // The module before layouts were converted, where that was done for --partition collage.
  std::optional<Module> plain = std::nullopt;
};

class Compilation {
 public:
  Compilation(const CompileOptions& options, const Progress& progress)
      : options_(options), progress_(progress), begin_(Clock::now()), stage_begin_(begin_) {}

  Result<Prepared> prepare();
  // In place of prepare: what another compilation with the same options has made, but for who
  // computes what.
  void start_from(Prepared prepared);
  // The same of a module as it was before layouts were converted: what its operators are computed
  // in goes by costs, too.
  void start_before_layouts(Prepared prepared);
  // In place of the strategy that the options name.
  void place_by(std::unique_ptr<byoc::Placer> placer) { placer_ = std::move(placer); }
  // In place of what the options say of records: how generated code does its work, asked for when
  // that is lowered. Nothing of it is measured then.
  void take_algorithms_from(std::function<Result<schedule::MeasuredAlgorithms>()> source) {
    algorithms_from_ = std::move(source);
  }
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
  // The library alone, which finds vendor libraries where this machine has them, and its weights in
  // a file that others read, too.
  Result<void> write_to_be_timed(const Lowered& lowered, const std::string& path,
                                 SharedWeightsFile& weights);
  // Several of them before they are written: their sources are compiled all at once, since one
  // model has fewer than a large machine has cores. What fails does so again when it is written.
  using Written = std::pair<Compilation*, const Lowered*>;
  static void compile_ahead(std::span<const Written> libraries);
  // One run of what was lowered in this process, beside the same model in float32: report.errors.
  Result<void> measure_errors(
      const Lowered& lowered,
      const std::function<Result<std::vector<Tensor>>(exec::Session&)>& inputs);
  // Measures what has no record, and makes no library.
  Result<void> tune();

  void warn_of_cache();  // once
  // A failure comes with the warnings before it, which may say why; not with those that it repeats.
  Diagnostics with_warnings(Diagnostics problems);
  // The build id names what went in: the same input, options and compiler give the same id.
  emit::ProgramInfo program_info(const Lowered& lowered) const;
  // Ends a stage, which has taken the time since the one before.
  void done(std::string stage, const std::string& what);

  // The strategy that searched, where one did.
  const CollagePlacer* collage() const { return collage_; }

  CompileReport report;
  // The plan that was searched, before any back end declined a part of it. It is no part of the
  // report before whole plans were compared, as the build id is of the report.
  std::optional<CollageReport> searched;

 private:
  using Clock = std::chrono::steady_clock;

  void add_warnings(std::vector<Diagnostic> warnings);
  Result<link::Toolchain> find_toolchain() const;
  Result<void> choose_machines();
  // Of a plain module, where --partition collage has them go by costs.
  Result<void> choose_layouts();
  Result<Module> with_folded_norms(Module module);
  bool tells_slow_code() const;
  std::vector<DType> types_left() const;
  byoc::Placer& placer() { return placer_ ? *placer_ : greedy_; }
  // Opens what the records have of parts that back ends make on a device.
  Result<void> recall_made();
  // Has them made that are not there.
  Result<void> make_parts(const Partitioned& parts, bool has_measurements);
  Result<void> measure_tasks(const std::vector<byoc::TuningTask>& tasks);
  // With the algorithms of generated code that were measured, before or now.
  Result<Lowered> lower(Module module);
  Result<schedule::MeasuredAlgorithms> known_algorithms() const;
  Diagnostic unmeasured_algorithms(const schedule::MeasuredAlgorithms& known) const;
  Result<void> measure_native(const Module& module);
  // What is measured is measured before it is read.
  Result<Module> place(Partitioned parts);
  // --verify: one run in this process on random inputs, every distinct call compared on the way.
  Result<void> verify(const Lowered& lowered);
  // The same inputs through the model as it came.
  Result<void> compare_with_float32(const std::vector<exec::PortInfo>& ports,
                                    const std::vector<Tensor>& inputs,
                                    const std::vector<Tensor>& outputs);
  Result<void> write_library(const Lowered& lowered);
  // What --weights packs; what became of it is reported.
  Result<emit::PackedBlobs> pack(const Lowered& lowered);
  Result<void> write_report(const Lowered& lowered, const emit::WeightsLayout& weights,
                            const std::vector<std::string>& objects);
  void collect_libraries(const Module& module);

  CompileOptions options_;
  const Progress progress_;
  Clock::time_point begin_, stage_begin_;
  std::optional<Module> prepared_;
  std::optional<link::Toolchain> toolchain_;
  std::vector<MachineCode> machines_;  // that the library is for, best first
  std::size_t here_ = 0;               // which of them this machine takes
  PlacementFacts facts_;
  std::unique_ptr<RecordedParts> made_;  // null: no back end makes any, or nothing is kept
  byoc::GreedyPlacer greedy_;
  std::unique_ptr<byoc::Placer> placer_;   // instead, where it is asked for
  CollagePlacer* collage_ = nullptr;       // where that is it
  std::optional<Diagnostic> vain_tuning_;  // unless generated code has a choice
  double tuning_seconds_ = 0;              // of what back ends measured
  std::function<Result<schedule::MeasuredAlgorithms>()> algorithms_from_;
  bool warned_of_cache_ = false;
  bool by_layout_ = false;
};

}  // namespace tessera::driver
