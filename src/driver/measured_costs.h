// SPDX-License-Identifier: Apache-2.0
// Costs of candidates as measured on this machine. Candidates of one back end are built together,
// many entries in one library, and run alone, in a child that may crash or hang. Numbers are
// compared with generated code before they are timed. Records come first: what has one is not
// measured.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "byoc/composites.h"
#include "collage/cost.h"
#include "driver/entries.h"
#include "driver/options.h"
#include "tune/record_store.h"
#include "tune/worker_report.h"

namespace tessera::driver {

// Where records of costs belong: this machine as what is measured sees it. Without the GPU that the
// targets are for, the one that `records` have costs of, if nothing is to be measured.
Result<std::string> device_of_costs(const CompileOptions& options,
                                    const tune::RecordStore& records);

class MeasuredCosts final : public collage::CostEstimator {
 public:
  struct Services {
    std::string device;  // device_of_costs
    const MachineCode& code;
    link::Toolchain& toolchain;
    tune::RecordStore& records;
    std::function<void(std::size_t done, std::size_t of)> progress;
  };
  // `rest` is part of native code: the back end of operators that are no loops.
  MeasuredCosts(const CompileOptions& options, std::vector<byoc::BackendChoice> choices,
                byoc::BackendChoice rest, std::uint64_t model_bytes, Services services);

  Result<collage::Cost> estimate(const collage::CandidateProgram& program) override;
  Result<std::vector<collage::Cost>> estimate_all(
      std::span<const collage::CandidateProgram> programs) override;

  std::size_t num_measured() const { return num_measured_; }
  std::size_t num_failed() const { return num_failed_; }
  std::size_t num_left() const { return num_left_; }  // without a cost: the budget was spent

 private:
  struct Job {
    const collage::CandidateProgram* program = nullptr;
    const byoc::BackendChoice* choice = nullptr;  // null: native
    tune::RecordKey key;
    std::string numbers;  // what it computes: the key's workload with the values of all constants
    collage::Cost cost;
    double spread = 0;
  };
  // Entries that were built together; a job's is named by its number.
  struct Batch {
    EntryLibrary library;
    std::vector<std::string> entries;  // by job of the batch; "": it has none
  };
  struct Entry {
    const EntryLibrary* library = nullptr;
    std::string name;
  };

  Job job_of(const collage::CandidateProgram& program) const;
  Result<bool> look_up(Job& job) const;
  Result<void> record(const Job& job);
  std::vector<std::vector<Job*>> batches_of(std::vector<Job>& jobs) const;
  Result<void> measure(std::vector<Job*> jobs);
  void add_references(std::span<Job* const> jobs);
  void keep_native(std::span<Job* const> jobs, Batch batch);
  Result<Batch> build(std::span<Job* const> jobs);
  Result<void> run(std::span<Job* const> jobs, const Batch& batch);
  Result<tune::Measured> measure_entry(const Entry& entry, const Entry* reference) const;
  bool is_spent() const;

  const CompileOptions& options_;
  CompileOptions build_options_;  // the same for libraries of candidates: nothing is dumped
  std::vector<byoc::BackendChoice> choices_;
  byoc::BackendChoice rest_;
  std::uint64_t model_bytes_;
  Services services_;
  std::chrono::steady_clock::time_point begin_;
  // Libraries of native code, whose entries say what others must compute.
  std::vector<std::unique_ptr<const EntryLibrary>> native_;
  std::map<std::string, Entry> native_entries_;  // by Job::numbers
  std::size_t num_measured_ = 0, num_failed_ = 0, num_left_ = 0;
};

}  // namespace tessera::driver
