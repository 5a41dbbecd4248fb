// SPDX-License-Identifier: Apache-2.0
// Measures what back ends can compute in several ways, and writes records: compiles the presumably
// best candidates of all tasks together, then runs a program for each task, a process of its own,
// or a child that searches. A candidate that crashes or hangs costs that process, which is started
// again without it.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "byoc/tuning_task.h"
#include "link/toolchain.h"
#include "support/files.h"
#include "tune/gpu.h"
#include "tune/record_store.h"
#include "tune/worker_report.h"

namespace tessera::tune {

struct TunerOptions {
  double budget_s = 240;  // of compiling and measuring, all tasks together
  int kernels = 8;        // of a task, at most, that are compiled; a search looks at 4 times that
  std::string toolchain = {};                                           // of the records' keys
  std::function<void(std::size_t done, std::size_t of)> progress = {};  // tasks
  double silence_s = 60;                                                // of a search that hangs
};

// How `problem` begins where nothing is wrong but the time.
constexpr std::string_view kBudgetSpent = "the budget was spent";

// What is known of a task in the end.
struct TuneRow {
  std::string title;
  std::size_t uses = 1;
  std::optional<Record> best;  // nothing: no candidate can be used, or none was measured
  std::string
      first;  // the configuration taken without records; "": one that was searched for before
  std::optional<Record> first_record;
  std::size_t measured = 0, failed = 0, known = 0;  // candidates: now, now, before
  std::string problem;                              // why not all was measured
};

// A compiler that was killed or had no memory, a full disk or a missing compiler say nothing about
// what was compiled.
bool is_about_the_source(const Diagnostic& why, const link::Toolchain& toolchain);

class Tuner {
 public:
  Tuner(link::Toolchain& toolchain, RecordStore& records, Gpu gpu, TunerOptions options)
      : toolchain_(toolchain),
        records_(records),
        gpu_(std::move(gpu)),
        options_(std::move(options)) {}

  // Measures what has no record yet; failures are records, too. Fails for the records file alone.
  Result<std::vector<TuneRow>> run(std::span<const byoc::TuningTask> tasks);

 private:
  using Clock = link::Toolchain::Clock;
  using Object = std::optional<Result<std::string>>;
  // A task on its way.
  struct Job {
    const byoc::TuningTask* task;
    RecordKey key;
    TuneRow row;
    std::vector<std::size_t> wanted = {};  // candidates without a record, by number
    std::vector<std::size_t> now = {};     // those of this round
    bool wants_search = false, searches_now = false;

    bool is_in_round() const { return !now.empty() || searches_now; }
  };
  // How one start of a measuring process ended.
  struct Ended {
    WorkerReport report;
    std::string failure = {};    // of the one begun last, unless it is done or nobody's fault
    std::string complaint = {};  // why it is nobody's
    bool is_own_fault = false;   // starting it again is in vain
    bool is_killed = false;      // by the machine, as where memory ran out
  };
  using Skipped = std::set<std::size_t>;
  using Names = std::map<std::size_t, std::string>;  // configurations

  RecordKey key_of_compiling(const RecordKey& key) const;
  Result<std::set<std::string>> known_of(const RecordKey& key, const Records& found) const;
  Result<Job> prepare(const byoc::TuningTask& task) const;
  void want_candidates(Job& job, const std::set<std::string>& known) const;
  bool start_round(std::vector<Job>& jobs) const;
  void compile(const std::vector<Job>& jobs);
  Result<void> measure(Job& job, double seconds);
  Result<void> sort_out(Job& job);
  Result<std::string> build_program(const Job& job, const TempDir& folder);
  Result<void> run_program(Job& job, const std::string& program, double seconds);
  Result<void> search(Job& job, double seconds);
  Result<void> run_to_the_end(Job& job, double seconds, Names names,
                              const std::function<Ended(double seconds, const Skipped&)>& start);
  static void count_unmeasured(Job& job, std::size_t left);
  Result<void> add(Job& job, const std::string& configuration, const Measured& measured);
  Result<void> summarize(Job& job) const;
  double seconds_left() const;

  link::Toolchain& toolchain_;
  RecordStore& records_;
  Gpu gpu_;
  TunerOptions options_;
  Clock::time_point begin_;
  std::map<Source, Object> objects_;  // by the source that they were made of
};

}  // namespace tessera::tune
