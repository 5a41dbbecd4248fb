// SPDX-License-Identifier: Apache-2.0
// Costs of candidates as measured on this machine. Candidates of one back end are built together,
// many entries in one library, with what the back end tunes tuned before, and run alone, by a
// process that may crash or hang. Numbers are compared with generated code before they are timed.
// What any run takes, however little it computes, is no part of a cost. Records come first: what
// has one is not measured.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "byoc/composites.h"
#include "collage/cost.h"
#include "driver/compilation_timing.h"
#include "driver/entry_file.h"
#include "driver/options.h"
#include "schedule/algorithms.h"
#include "tune/record_store.h"

namespace tessera::driver {

class MeasuredCosts final : public collage::CostEstimator {
 public:
  struct Services {
    std::string device;  // device_of_costs
    const MachineCode& code;
    link::Toolchain& toolchain;
    tune::RecordStore& records;
    std::function<void(std::size_t done, std::size_t of)> progress;
    byoc::MadeParts* made = nullptr;  // null: nobody makes any
  };
  // `rest` is part of native code: the back end of operators that are no loops.
  MeasuredCosts(const CompileOptions& options, std::vector<byoc::BackendChoice> choices,
                byoc::BackendChoice rest, std::uint64_t model_bytes, Services services);

  Result<collage::Cost> estimate(const collage::CandidateProgram& program) override;
  Result<std::vector<collage::Cost>> estimate_all(
      std::span<const collage::CandidateProgram> programs) override;

  std::size_t num_measured() const { return num_measured_; }
  std::size_t num_failed() const { return num_failed_; }
  std::size_t num_left() const { return num_left_; }  // without a cost
  // Why they are, where there are any.
  Diagnostic why_left(const std::string& function) const;
  // What a run takes beside its kernels; 0 where it is not known.
  double run_seconds() const { return run_seconds_; }

 private:
  struct Job {
    const collage::CandidateProgram* program = nullptr;
    const byoc::BackendChoice* choice = nullptr;  // null: native
    tune::RecordKey key;
    std::string numbers;  // what it computes: the key's workload with the values of all constants
    collage::Cost cost;
    tune::Measured measured;     // of the cost, where that was measured now
    LibraryProgram program_now;  // what was measured now
    double tolerance = 0;        // of its floats, as it was built
  };
  // Entries that were built together.
  struct Batch {
    std::unique_ptr<const EntryFile> file;  // null: there are none
    std::vector<std::string> entries;       // by job of the batch; "": it has none
  };
  Job job_of(const collage::CandidateProgram& program) const;
  Result<std::optional<collage::Cost>> cost_of_declined(const Job& job) const;
  Result<bool> look_up(Job& job) const;
  tune::Record record_of(const Job& job) const;
  std::vector<std::vector<Job*>> batches_of(std::vector<Job>& jobs) const;
  Result<void> measure_all(std::vector<Job>& jobs, std::size_t unknown);
  Result<void> measure_run();
  Result<void> measure(std::vector<Job*> jobs);
  void add_references(std::span<Job* const> jobs);
  void keep_native(std::span<Job* const> jobs);
  Result<Batch> build(std::span<Job* const> jobs);
  Result<void> tune(const Module& module, const byoc::BackendChoice& choice);
  Result<schedule::MeasuredAlgorithms> algorithms_of(const Module& module);
  Result<void> build_and_keep(std::span<Job* const> jobs);
  void run(std::span<Job* const> jobs);
  static void set_cost(Job& job, const tune::Measured& measured);
  Result<void> measure_again(std::vector<Job>& jobs);
  Result<void> look_again(std::vector<Job>& jobs);
  bool is_of_one_size(const LibraryProgram& program) const;
  ProgramTiming timing() const;
  double seconds_left() const;

  const CompileOptions& options_;
  CompileOptions build_options_;  // the same for libraries of candidates: nothing is dumped
  std::vector<byoc::BackendChoice> choices_;
  byoc::BackendChoice rest_;
  std::uint64_t model_bytes_;
  std::string how_timed_;  // at the end of versions in keys
  Services services_;
  std::chrono::steady_clock::time_point begin_;
  std::string command_;  // that measures
  std::vector<std::unique_ptr<const EntryFile>> files_;
  std::map<std::string, LibraryProgram>
      native_programs_;  // by Job::numbers: what others must compute
  double run_seconds_ = 0;
  double tuning_seconds_ = 0;  // of what back ends tune before the present batch
  std::size_t num_measured_ = 0, num_failed_ = 0, num_left_ = 0;
};

}  // namespace tessera::driver
