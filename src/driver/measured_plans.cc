// SPDX-License-Identifier: Apache-2.0
#include "driver/measured_plans.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "driver/compilation.h"
#include "driver/dimensions.h"
#include "driver/measured_costs.h"
#include "driver/pipeline.h"
#include "driver/run_inputs.h"
#include "driver/session_timing.h"
#include "driver/tuning.h"
#include "tune/child.h"
#include "tune/worker_report.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

constexpr int kRounds = 10;
constexpr double kSecondsInTurn = 0.1;  // of a plan, in each round
constexpr double kSecondsOfSilence = 300;
// What two runs of one library differ by: within it the plan that was not searched is taken.
constexpr double kNoise = 0.01;
// Sums over a whole model, taken in other orders, against those of one operator.
constexpr double kToleranceOfModels = 20;

struct Plan {
  WholePlan row;
  std::unique_ptr<Compilation> compilation;
  Lowered lowered;
  std::optional<KernelLibrary> library;
  tune::RecordKey key;
};

// The targets of the machine, and one back end or none.
std::vector<Target> targets_with(const CompileOptions& options, std::string_view back_end) {
  std::vector<Target> targets;
  for (const Target& t : options.targets) {
    if (!t.is_external() || t.name() == back_end) targets.push_back(t);
  }
  return targets;
}

class PlanRace {
 public:
  PlanRace(const CompileOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  Result<CompileReport> run() {
    TESSERA_TRY_VOID(open_records());
    TESSERA_TRY_VOID(add("collage", options_, progress_));
    CompileOptions in_regions = options_;
    in_regions.tuning.in_regions = true;
    in_regions.dump_dir.clear();
    TESSERA_TRY_VOID(add("collage in regions", in_regions, {}));
    CompileOptions greedy = options_;
    greedy.partition = Partition::kGreedy;
    greedy.dump_dir.clear();
    // What back ends measure for themselves is part of each plan.
    if (!help_to_measure(options_.targets).empty()) {
      greedy.tuning.measures = false;
      greedy.records.clear();
    }
    TESSERA_TRY_VOID(add("greedy", greedy, {}));
    for (const Target& t : options_.targets) {
      if (!t.is_external()) continue;
      greedy.targets = targets_with(options_, t.name());
      TESSERA_TRY_VOID(add(fmt::format("{} alone", t.name()), greedy, {}));
    }
    greedy.targets = targets_with(options_, "");
    greedy.partition = Partition::kNone;
    TESSERA_TRY_VOID(add("native", greedy, {}));
    TESSERA_TRY_VOID(time_plans());
    return write(fastest());
  }

 private:
  Result<void> open_records() {
    TESSERA_TRY(const std::string path, records_path(options_));
    TESSERA_TRY(records_, tune::RecordStore::open(path));
    TESSERA_TRY(device_, device_of_costs(options_, *records_));
    return {};
  }

  // A plan that is the same as another is not built twice; one that cannot be built is out, unless
  // it is the one that was asked for.
  Result<void> add(const std::string& name, const CompileOptions& options,
                   const Progress& progress) {
    Plan plan;
    plan.row.name = name;
    plan.compilation = std::make_unique<Compilation>(options, progress);
    Result<Lowered> lowered = plan.compilation->front_half();
    if (!lowered) {
      if (plans_.empty()) return fail(plan.compilation->with_warnings(lowered.error()));
      plan.row.why_not = lowered.error().list.front().message;
      left_out_.push_back(std::move(plan.row));
      return {};
    }
    const std::string build = plan.compilation->program_info(*lowered).build_id;
    plan.key = {"collage plan", "", device_, "", build};
    for (Plan& other : plans_) {
      if (other.key.workload != build) continue;
      other.row.name += ", " + name;
      return {};
    }
    plan.lowered = *std::move(lowered);
    plans_.push_back(std::move(plan));
    return {};
  }

  // All anew if any has no record: times of one run alone compare.
  Result<void> time_plans() {
    bool all_known = true;
    for (Plan& plan : plans_) {
      TESSERA_TRY(const tune::Records found, records_->find(plan.key));
      if (found.list.empty()) {
        all_known = false;
        continue;
      }
      plan.row.seconds = found.list.front().time_us * 1e-6;
      plan.row.why_not = found.list.front().failure;
    }
    if (all_known || plans_.size() == 1) return {};
    if (!options_.tuning.measures) return fail(times_missing());
    TESSERA_TRY_VOID(measure());
    for (const Plan& plan : plans_) {
      TESSERA_TRY_VOID(
          records_->add({plan.key, plan.row.name, plan.row.seconds * 1e6, 0, plan.row.why_not}));
    }
    return {};
  }

  static Diagnostics times_missing() {
    Diagnostics problems;
    problems.add(error(Code::kBadOption, {},
                       "there is no record of how long whole plans of this model take, and nothing "
                       "may be measured")
                     .with_remedy("omit --no-measure, or name a file with --records that has it"));
    return problems;
  }

  Result<void> measure() {
    for (Plan& plan : plans_) {
      plan.row.seconds = 0;
      plan.row.why_not.clear();
      TESSERA_TRY(plan.library, plan.compilation->load(plan.lowered));
    }
    std::string last_problem;
    while (!is_any_timed() && std::any_of(plans_.begin(), plans_.end(), is_in)) {
      last_problem = run_children();
    }
    if (is_any_timed()) return {};
    return fail(
        error(Code::kToolFailed, {}, "no plan of the model could be timed: {}", last_problem)
            .with_remedy("compile with --partition greedy"));
  }

  static bool is_in(const Plan& plan) { return plan.row.why_not.empty(); }
  bool is_any_timed() const {
    return std::any_of(plans_.begin(), plans_.end(),
                       [](const Plan& plan) { return is_in(plan) && plan.row.seconds > 0; });
  }

  // All that are in, in one child. A plan that ends it is out; what it says is the problem, else
  // "".
  std::string run_children() {
    const tune::ChildResult child = tune::run_in_child(
        [&](const tune::Print& print) {
          const Result<void> ran = run_all(print);
          if (!ran) throw std::runtime_error(ran.error().list.front().message);
        },
        kSecondsOfSilence);
    tune::WorkerReport found = tune::parse_worker_report(child.output);
    if (!child.problem.empty()) {
      found.measured[found.begun.value_or(0)] = {0, 0, child.problem};
    }
    for (const auto& [i, measured] : found.measured) {
      plans_[i].row.why_not = measured.failure;
      plans_[i].row.seconds = measured.time_us * 1e-6;
    }
    return child.problem;
  }

  // In the child: every plan computes what the last does, which is generated code where there is
  // such a plan; then all take turns.
  Result<void> run_all(const tune::Print& print) const {
    std::vector<std::unique_ptr<exec::Session>> sessions(plans_.size());
    std::vector<Tensor> inputs, wanted;
    std::vector<bool> is_out(plans_.size(), false);
    for (std::size_t i = plans_.size(); i-- > 0;) {
      is_out[i] = !is_in(plans_[i]);
      if (is_out[i]) continue;
      print(tune::begin_line(i));
      TESSERA_TRY(sessions[i], plans_[i].library->open_main({.threads = options_.threads}));
      if (wanted.empty()) {
        TESSERA_TRY(RunInputs ran,
                    run_with_random_inputs(*sessions[i], likely_shapes(plans_[i].lowered)));
        inputs = std::move(ran.inputs);
        wanted = std::move(ran.outputs);
      } else {
        TESSERA_TRY(const std::vector<Tensor> found, sessions[i]->run(inputs));
        const std::string wrong =
            wrong_numbers(found, wanted, kToleranceOfModels, "another plan's");
        is_out[i] = !wrong.empty();
        if (is_out[i]) print(tune::line_of(i, {0, 0, wrong}));
      }
      TESSERA_TRY_VOID(sessions[i]->bind(inputs));
    }
    std::vector<std::vector<double>> seconds(plans_.size());
    CacheFiller filler(0);
    for (int round = 0; round < kRounds; ++round) {
      for (std::size_t i = 0; i < plans_.size(); ++i) {
        if (is_out[i]) continue;
        print(tune::begin_line(i));
        TESSERA_TRY(const std::vector<double> some,
                    time_runs(*sessions[i], {1, 1000, kSecondsInTurn}, filler));
        seconds[i].insert(seconds[i].end(), some.begin(), some.end());
      }
    }
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      if (is_out[i]) continue;
      const Quartiles q = quartiles(seconds[i]);
      print(tune::line_of(i, {q.median * 1e6, q.spread * 1e6, ""}));
    }
    print(tune::kDoneLine);
    return {};
  }

  Plan& fastest() {
    Plan* best = nullptr;
    for (Plan& plan : plans_) {
      if (!is_in(plan)) continue;
      // The searched plan comes first, and must be better by more than noise.
      const double needed = best == &plans_.front() ? best->row.seconds * (1 + kNoise)
                            : best != nullptr       ? best->row.seconds
                                                    : 0;
      if (best == nullptr || plan.row.seconds < needed) best = &plan;
    }
    return best != nullptr ? *best : plans_.front();
  }

  Result<CompileReport> write(Plan& chosen) {
    chosen.row.is_chosen = true;
    CollageReport collage = *plans_.front().compilation->searched;
    for (const Plan& plan : plans_) collage.plans.push_back(plan.row);
    collage.plans.insert(collage.plans.end(), left_out_.begin(), left_out_.end());
    chosen.compilation->report.collage = std::move(collage);
    const Result<void> written = chosen.compilation->finish(chosen.lowered);
    if (!written) return fail(chosen.compilation->with_warnings(written.error()));
    return std::move(chosen.compilation->report);
  }

  const CompileOptions& options_;
  const Progress& progress_;
  std::vector<Plan> plans_;
  std::vector<WholePlan> left_out_;
  std::optional<tune::RecordStore> records_;
  std::string device_;
};

}  // namespace

Result<CompileReport> compile_fastest(const CompileOptions& options, const Progress& progress) {
  return PlanRace(options, progress).run();
}

}  // namespace tessera::driver
