// SPDX-License-Identifier: Apache-2.0
#include "driver/measured_plans.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "collage/evolution.h"
#include "driver/collage_text.h"
#include "driver/compilation.h"
#include "driver/compilation_timing.h"
#include "driver/device_of_costs.h"
#include "driver/given_placement.h"
#include "driver/measured_costs.h"
#include "driver/native_algorithms.h"
#include "driver/pipeline.h"
#include "driver/plan_times.h"
#include "driver/program_timing.h"
#include "driver/shared_weights_file.h"
#include "driver/tuning.h"
#include "link/temporary_folder.h"
#include "ops/evaluation/compare.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

// What two runs of one library differ by: within it the plan that was not searched is taken.
constexpr double kNoise = 0.01;
constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr Turns kTurnsOfEvolved{5, {1, 1000, 0.05}};
constexpr std::string_view kEvolvedPlan = "evolved", kNothingBetter = "nothing better";

struct Plan {
  WholePlan row;
  std::unique_ptr<Compilation> compilation;
  Lowered lowered;
  std::optional<TempDir> folder;
  LibraryProgram program;  // in it, where it was needed
  tune::RecordKey key;
  bool has_same_layouts = true;  // as the searched plan
};

// The targets of the machine, and one back end or none.
std::vector<Target> targets_with(const CompileOptions& options, std::string_view back_end) {
  std::vector<Target> targets;
  for (const Target& t : options.targets) {
    if (!t.is_external() || t.name() == back_end) targets.push_back(t);
  }
  return targets;
}

enum class Layouts : std::uint8_t { kOfBackEnds, kByCost };

class PlanRace {
 public:
  PlanRace(const CompileOptions& options, const Progress& progress)
      : options_(options), progress_(progress) {}

  Result<CompileReport> run() {
    begin_ = std::chrono::steady_clock::now();
    TESSERA_TRY_VOID(open_records());
    TESSERA_TRY_VOID(add(std::string(kSearchedPlan), options_, progress_));
    CompileOptions in_regions = undumped();
    in_regions.tuning.in_regions = true;
    TESSERA_TRY_VOID(add("collage in regions", in_regions, {}));
    TESSERA_TRY_VOID(add_by_layout());
    CompileOptions greedy = undumped();
    greedy.partition = Partition::kGreedy;
    // What back ends measure for themselves is part of each plan.
    if (!help_to_measure(options_.targets).empty()) {
      greedy.tuning.measures = false;
      greedy.records.clear();
    }
    TESSERA_TRY_VOID(add(std::string(kGreedyPlan), greedy, {}));
    for (const Target& t : options_.targets) {
      if (!t.is_external()) continue;
      greedy.targets = targets_with(options_, t.name());
      TESSERA_TRY_VOID(add(name_of_plan_alone(t.name()), greedy, {}));
    }
    greedy.targets = targets_with(options_, "");
    greedy.partition = Partition::kNone;
    TESSERA_TRY_VOID(add(std::string(kNativePlan), greedy, {}));
    TESSERA_TRY_VOID(evolve());
    TESSERA_TRY_VOID(time_plans());
    return write(fastest());
  }

 private:
  Result<void> open_records() {
    TESSERA_TRY(const std::string path, records_path(options_));
    TESSERA_TRY(records_, tune::RecordStore::open(path));
    TESSERA_TRY(device_, device_of_costs(options_, *records_));
    if (!options_.tuning.measures) return {};
    TESSERA_TRY(const auto files, link::SupportFiles::find());
    TESSERA_TRY(command_, files.command());
    return {};
  }

  // Where back ends ask for layouts: those that the first plan has are of whoever comes first.
  Result<void> add_by_layout() {
    if (!prepared_->plain || prepared_->plain->functions.at("main").num_regions() > 1) return {};
    return add("collage by layout", undumped(), {}, Layouts::kByCost);
  }

  // What is the same but for who computes what is imported and optimised once.
  bool is_prepared_alike(const CompileOptions& options) const {
    return prepared_ && options.partition != Partition::kNone &&
           options.targets.size() == options_.targets.size();
  }

  // The budget is of all plans together: what the first one has left, which leaves something where
  // layouts are searched, too.
  CompileOptions in_time(CompileOptions options) const {
    constexpr double kLeast = 1, kShareOfFirst = 0.75;
    if (plans_.empty()) {
      if (!desired_layouts(options_).empty()) options.tuning.budget_s *= kShareOfFirst;
      return options;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    options.tuning.budget_s = std::max(kLeast, options.tuning.budget_s - spent.count());
    return options;
  }

  Result<Plan> plan_of(const std::string& name, const CompileOptions& given,
                       const Progress& progress, std::unique_ptr<byoc::Placer> placer = nullptr,
                       Layouts layouts = Layouts::kOfBackEnds) {
    const CompileOptions options = in_time(given);
    Plan plan;
    plan.row.name = name;
    plan.has_same_layouts =
        layouts == Layouts::kOfBackEnds && desired_layouts(options) == desired_layouts(options_);
    plan.compilation = std::make_unique<Compilation>(options, progress);
    Compilation& compilation = *plan.compilation;
    if (layouts == Layouts::kByCost) {
      compilation.start_before_layouts({*prepared_->plain, prepared_->report, prepared_->limits});
    } else if (is_prepared_alike(options)) {
      compilation.start_from(*prepared_);
    } else {
      TESSERA_TRY(Prepared prepared, compilation.prepare());
      if (plans_.empty()) prepared_ = prepared;
      compilation.start_from(std::move(prepared));
    }
    if (placer) compilation.place_by(std::move(placer));
    // All plans by the same: what was measured of generated code before its parts were.
    compilation.take_algorithms_from([&] { return recorded_algorithms(*records_, device_); });
    TESSERA_TRY(plan.lowered, compilation.front_half());
    plan.key = {"collage plan", how_timed(options_), device_, "",
                compilation.program_info(plan.lowered).build_id};
    return plan;
  }

  // A plan that is the same as another is not built twice; one that cannot be built is out, unless
  // it is the one that was asked for.
  Result<void> add(const std::string& name, const CompileOptions& options, const Progress& progress,
                   Layouts layouts = Layouts::kOfBackEnds) {
    Result<Plan> plan = plan_of(name, options, progress, nullptr, layouts);
    if (!plan) {
      if (plans_.empty()) return fail(std::move(plan).error());
      left_out_.push_back({.name = name, .why_not = plan.error().list.front().message});
      return {};
    }
    if (Plan* same = find(plan->key.workload)) {
      same->row.name += ", " + name;
    } else {
      plans_.push_back(*std::move(plan));
    }
    return {};
  }

  Plan* find(const std::string& build) {
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const Plan& plan) { return plan.key.workload == build; });
    return found == plans_.end() ? nullptr : &*found;
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
      TESSERA_TRY_VOID(records_->replace(
          {plan.key, plan.row.name, plan.row.seconds * 1e6, 0, plan.row.why_not}));
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
    std::vector<Compilation::Written> to_build;
    for (const Plan& plan : plans_) {
      if (!plan.program) to_build.emplace_back(plan.compilation.get(), &plan.lowered);
    }
    Compilation::compile_ahead(to_build);
    std::vector<LibraryProgram> programs;
    for (Plan& plan : plans_) {
      TESSERA_TRY(const LibraryProgram program, program_of(plan));
      programs.push_back(program);
    }
    const std::vector<tune::Measured> times =
        time_whole_plans(programs, tolerance(), options_, command_);
    bool is_any_timed = false;
    for (std::size_t i = 0; i < plans_.size(); ++i) {
      plans_[i].row.seconds = times[i].time_us * 1e-6;
      plans_[i].row.why_not = times[i].failure;
      is_any_timed |= is_in(plans_[i]);
    }
    if (is_any_timed) return {};
    return fail(no_plan_timed(plans_.front().lowered.module.symbols, plans_.front().row.why_not));
  }

  // Sums over a whole model, taken in other orders, against those of one graph. Generated code,
  // where there is such a plan, is the last one, and what the others must compute.
  double tolerance() const {
    constexpr double kOfModels = 20;
    double tolerance = 0;
    const relay::Function& main = prepared_->module.functions.at("main");
    for (const Plan& plan : plans_) {
      const DType precision = ops::float32_precision(plan.lowered.module.externs);
      tolerance = std::max(tolerance, ops::graph_tolerance(main, precision));
    }
    return kOfModels * tolerance;
  }

  Result<LibraryProgram> program_of(Plan& plan) {
    if (plan.program) return plan.program;
    TESSERA_TRY(TempDir folder, link::temporary_folder("tessera-plan-"));
    plan.folder.emplace(std::move(folder));
    const std::string path = plan.folder->file("plan.so");
    if (!weights_) {
      TESSERA_TRY(weights_, SharedWeightsFile::make());
    }
    TESSERA_TRY_VOID(plan.compilation->write_to_be_timed(plan.lowered, path, *weights_));
    plan.program = {.library = path, .likely = likely_shapes(plan.lowered), .largest = {}};
    return plan.program;
  }

  static bool is_in(const Plan& plan) { return plan.row.why_not.empty(); }

  // The second level. What it found is on record, nothing included: it is searched for once.
  Result<void> evolve() {
    const CollagePlacer* collage = plans_.front().compilation->collage();
    const tune::RecordKey key{"collage evolved", how_timed(options_), device_, "",
                              plans_.front().key.workload};
    TESSERA_TRY(const tune::Records found, records_->find(key));
    if (!found.list.empty()) return add_evolved(found.list.front().configuration);
    if (!options_.tuning.measures || options_.tuning.evolve_s <= 0) return {};
    if (collage == nullptr || collage->seeds.empty()) return {};
    TESSERA_TRY_VOID(time_plans());
    collage::Evolution evolution(collage->moves, 1);
    for (const auto& [name, placement] : collage->seeds) {
      const Plan* plan = named(name);
      if (plan != nullptr && plan->has_same_layouts) {
        evolution.tell(placement, is_in(*plan) ? plan->row.seconds : kNever);
      }
    }
    TESSERA_TRY(const Evolved best, best_of(evolution, collage->names));
    TESSERA_TRY_VOID(records_->replace({key, best.placement, best.seconds * 1e6, 0, ""}));
    return add_evolved(best.placement);
  }

  // What it found, or kNothingBetter with the time of the first level.
  struct Evolved {
    std::string placement;
    double seconds;
  };

  // Whole plans, each against the fastest of the first level in turns, until the time is spent.
  Result<Evolved> best_of(collage::Evolution& evolution,
                          const std::vector<std::string>& back_ends) {
    const auto begin = std::chrono::steady_clock::now();
    const auto seconds_spent = [&] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    };
    Plan& first = fastest();
    const double first_seconds = first.row.seconds > 0 ? first.row.seconds : 1;
    std::map<std::string, double> known;  // seconds by build
    for (const Plan& plan : plans_)
      known[plan.key.workload] = is_in(plan) ? plan.row.seconds : kNever;
    std::string best(kNothingBetter);
    double least = first_seconds * (1 - kNoise);
    std::size_t built = 0;
    double longest = 0;  // what building and timing one took
    while (seconds_spent() + longest < options_.tuning.evolve_s) {
      const double before = seconds_spent();
      std::optional<collage::NodePlacement> asked = evolution.ask();
      if (!asked) break;
      const GivenPlacement given{*asked, back_ends};
      TESSERA_TRY(const double seconds, seconds_of(given, first, first_seconds, known));
      ++built;
      longest = std::max(longest, seconds_spent() - before);
      if (seconds < least) {
        least = seconds;
        best = to_string(given);
      }
      evolution.tell(*std::move(asked), seconds);
    }
    plans_.front().compilation->done(
        "second level", fmt::format("{} plans, {}", built,
                                    best == kNothingBetter ? "none faster" : microseconds(least)));
    return Evolved{best, best == kNothingBetter ? first_seconds : least};
  }

  // What cannot be built or run never ends.
  Result<double> seconds_of(const GivenPlacement& given, Plan& first, double first_seconds,
                            std::map<std::string, double>& known) {
    Result<Plan> plan =
        plan_of(std::string(kEvolvedPlan), undumped(), {}, std::make_unique<GivenPlacer>(given));
    if (!plan) return kNever;
    const auto [entry, is_new] = known.try_emplace(plan->key.workload, kNever);
    if (!is_new) return entry->second;
    const Result<LibraryProgram> child = program_of(*plan);
    if (!child) return kNever;
    TESSERA_TRY(const LibraryProgram reference, program_of(first));
    Turns turns = kTurnsOfEvolved;
    turns.tolerance = tolerance();
    const std::vector<tune::Measured> times =
        time_in_turns(std::array{*child, reference}, turns, timing_of_models(options_), command_);
    if (times[0].failure.empty() && times[0].time_us > 0 && times[1].time_us > 0) {
      entry->second = first_seconds * times[0].time_us / times[1].time_us;
    }
    return entry->second;
  }

  CompileOptions undumped() const {
    CompileOptions options = options_;
    options.dump_dir.clear();
    return options;
  }

  Result<void> add_evolved(const std::string& text) {
    const auto given = parse_placement(text);
    if (text == kNothingBetter || !given) return {};
    TESSERA_TRY(Plan plan, plan_of(std::string(kEvolvedPlan), undumped(), {},
                                   std::make_unique<GivenPlacer>(*given)));
    if (find(plan.key.workload) == nullptr) plans_.push_back(std::move(plan));
    return {};
  }

  // One of these names may be part of a plan's.
  Plan* named(std::string_view name) {
    for (Plan& plan : plans_) {
      const std::string all = ", " + plan.row.name + ", ";
      if (all.find(fmt::format(", {}, ", name)) != std::string::npos) return &plan;
    }
    return nullptr;
  }

  // Whether nobody but a search proposes it: then it must be better by more than noise.
  static bool is_searched_alone(const Plan& plan) {
    std::string_view names = plan.row.name;
    while (!names.empty()) {
      const std::string_view name = names.substr(0, names.find(", "));
      if (!name.starts_with(kSearchedPlan) && name != kEvolvedPlan) return false;
      names.remove_prefix(std::min(names.size(), name.size() + 2));
    }
    return true;
  }

  Plan& fastest() {
    Plan* best = nullptr;
    double least = kNever;
    for (Plan& plan : plans_) {
      if (!is_in(plan)) continue;
      const double seconds = plan.row.seconds * (is_searched_alone(plan) ? 1 + kNoise : 1);
      if (best != nullptr && seconds >= least) continue;
      best = &plan;
      least = seconds;
    }
    return best != nullptr ? *best : plans_.front();
  }

  // By the costs of the searched plan; a graph of other layouts has other regions.
  void predict(Plan& plan) const {
    if (const auto& searched = plan.compilation->searched) {
      plan.row.predicted_seconds = searched->predicted_seconds;
      return;
    }
    const CollageReport& all = *plans_.front().compilation->searched;
    const auto found = all.predicted.find(plan.row.name.substr(0, plan.row.name.find(',')));
    if (found == all.predicted.end() || !std::isfinite(found->second)) return;
    if (plan.has_same_layouts) plan.row.predicted_seconds = found->second;
  }

  Result<CompileReport> write(Plan& chosen) {
    chosen.row.is_chosen = true;
    for (Plan& plan : plans_) predict(plan);
    CollageReport collage = *plans_.front().compilation->searched;
    for (const Plan& plan : plans_) collage.plans.push_back(plan.row);
    collage.plans.insert(collage.plans.end(), left_out_.begin(), left_out_.end());
    chosen.compilation->report.collage = std::move(collage);
    const Result<void> written = chosen.compilation->finish(chosen.lowered);
    if (!written) return fail(chosen.compilation->with_warnings(written.error()));
    CompileReport report = std::move(chosen.compilation->report);
    // What was measured to be fastest is not called slow.
    std::erase_if(report.warnings, [](const Diagnostic& d) { return d.code == Code::kSlowCode; });
    return report;
  }

  const CompileOptions& options_;
  const Progress& progress_;
  std::chrono::steady_clock::time_point begin_;
  std::optional<Prepared> prepared_;
  std::unique_ptr<SharedWeightsFile> weights_;  // of all plans, once they are timed
  std::vector<Plan> plans_;                     // the searched one first
  std::vector<WholePlan> left_out_;
  std::optional<tune::RecordStore> records_;
  std::string device_;
  std::string command_;  // that measures
};

}  // namespace

Result<CompileReport> compile_fastest(const CompileOptions& options, const Progress& progress) {
  return PlanRace(options, progress).run();
}

}  // namespace tessera::driver
