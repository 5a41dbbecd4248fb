// SPDX-License-Identifier: Apache-2.0
#include "driver/measured_costs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "byoc/compiler_functions.h"
#include "byoc/placer.h"
#include "collage/program.h"
#include "driver/device_of_costs.h"
#include "driver/native_algorithms.h"
#include "driver/one_pace.h"
#include "driver/pipeline.h"
#include "driver/placement.h"
#include "driver/size_params.h"
#include "driver/tuning.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "relay/function_attributes.h"
#include "support/hash.h"
#include "types/likely_size.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using collage::Cost;

// Enough that compilers have work for each core until the longest of it is done, and little enough
// that one failure costs little.
std::size_t entries_at_once(int compilers) {
  constexpr std::size_t kLeast = 24, kOfEachCompiler = 3;
  return std::max(kLeast, kOfEachCompiler * static_cast<std::size_t>(std::max(compilers, 0)));
}
constexpr double kTuningShare = 0.7;  // of the time that is left for a batch

// Raised when kernels of generated code become faster or slower: what one of before took says
// nothing of them.
constexpr const char* kVersionOfGeneratedCode = "generated code 1";

// Of what computes: the vendor library or the kernels, and with which options.
std::string version_of(const byoc::BackendChoice* choice, const relay::Function& program) {
  if (choice == nullptr) {
    const char* algorithms = may_have_algorithms(program) ? kVersionOfAlgorithms : nullptr;
    return algorithms == nullptr ? kVersionOfGeneratedCode
                                 : fmt::format("{}, {}", kVersionOfGeneratedCode, algorithms);
  }
  const auto library = choice->backend->library(choice->target);
  const std::string options = short_text(choice->target);
  return library ? fmt::format("{}, {}", library->version, options) : options;
}
std::string how_weighed(double largest_share) {
  return largest_share > 0 ? fmt::format(", largest sizes {:g}", largest_share) : "";
}

std::string entry_name(std::size_t i) { return fmt::format("candidate_{}", i); }

// What a key says to people; its hash decides.
std::string workload_text(const relay::Function& program, const std::string& text) {
  return fmt::format("{} {}", hash_text(text).hex().substr(0, 16),
                     fmt::join(byoc::operators_of(program), ","));
}

// Larger programs are compared as parts of whole models.
constexpr std::size_t kMostOperatorsCompared = 12;

std::string values_of_constants(const relay::Function& f, const ConstantPool& pool) {
  std::string text;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const auto* constant = f.as<relay::Constant>(relay::NodeId(i));
    if (constant != nullptr) text += pool.resolve(constant->value).blob->hash().hex();
  }
  return text;
}

}  // namespace

MeasuredCosts::MeasuredCosts(const CompileOptions& options,
                             std::vector<byoc::BackendChoice> choices, byoc::BackendChoice rest,
                             std::uint64_t model_bytes, Services services)
    : options_(options),
      build_options_(options),
      choices_(std::move(choices)),
      rest_(std::move(rest)),
      model_bytes_(model_bytes),
      services_(std::move(services)),
      begin_(std::chrono::steady_clock::now()) {
  build_options_.dump_dir.clear();
  const std::string how = how_timed(options, model_bytes);
  if (!how.empty()) how_timed_ = ", " + how;
}

Result<Cost> MeasuredCosts::estimate(const collage::CandidateProgram& program) {
  TESSERA_TRY(const std::vector<Cost> costs, estimate_all({&program, 1}));
  return costs.front();
}

Result<std::vector<Cost>> MeasuredCosts::estimate_all(
    std::span<const collage::CandidateProgram> programs) {
  std::vector<Job> jobs;
  std::size_t unknown = 0;
  for (const collage::CandidateProgram& program : programs) {
    Job& job = jobs.emplace_back(job_of(program));
    TESSERA_TRY(const bool known, look_up(job));
    unknown += !known;
  }
  if (options_.tuning.measures) {
    TESSERA_TRY(command_, services_.toolchain.support_files().command());
  }
  TESSERA_TRY_VOID(measure_run());
  if (options_.tuning.measures) {
    TESSERA_TRY_VOID(measure_all(jobs, unknown));
  }
  files_.clear();
  native_programs_.clear();
  std::vector<Cost> costs;
  for (const Job& job : jobs) {
    num_left_ += !job.cost.is_known();
    costs.push_back(job.cost);
  }
  return costs;
}

Result<void> MeasuredCosts::measure_all(std::vector<Job>& jobs, std::size_t unknown) {
  std::vector<std::vector<Job*>> batches = batches_of(jobs);
  std::size_t done = 0;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    if (seconds_left() <= 0) break;
    tuning_seconds_ = kTuningShare * seconds_left() / static_cast<double>(batches.size() - b);
    done += batches[b].size();
    TESSERA_TRY_VOID(measure(std::move(batches[b])));
    if (services_.progress) services_.progress(done, unknown);
  }
  TESSERA_TRY_VOID(measure_again(jobs));
  return look_again(jobs);
}

MeasuredCosts::Job MeasuredCosts::job_of(const collage::CandidateProgram& program) const {
  Job job;
  job.program = &program;
  job.choice = find_choice(program.target.name(), choices_);
  const relay::Function& main = program.module.functions.at("main");
  job.key = {fmt::format("{}{}", kKeysOfCosts,
                         job.choice != nullptr ? job.choice->backend->name() : "native"),
             version_of(job.choice, main) + how_weighed(options_.tuning.largest_share) + how_timed_,
             services_.device, services_.toolchain.identity(),
             workload_text(main, collage::program_text(main, program.module.constants))};
  job.numbers = job.key.workload + values_of_constants(main, program.module.constants);
  return job;
}

// What is left of a program when a back end is not given again what it declined. Costs on record
// are of builds in which it had declined nothing.
Result<std::optional<Cost>> MeasuredCosts::cost_of_declined(const Job& job) const {
  if (job.choice == nullptr || !job.choice->has_declined()) return std::optional<Cost>();
  byoc::PartitionOutcome outcome;
  TESSERA_TRY(outcome.module, ops::infer_types(job.program->module));
  const byoc::BackendChoice choices[] = {*job.choice, rest_};
  byoc::partition_function("main", choices, outcome);
  const auto left = byoc::operators_of(outcome.module.functions.at("main"));
  if (left.empty()) return std::optional<Cost>();
  return std::optional(Cost::invalid(outcome.refusals.empty()
                                         ? fmt::format("it leaves {}", fmt::join(left, ", "))
                                         : outcome.refusals.front().reason));
}

Result<bool> MeasuredCosts::look_up(Job& job) const {
  if (has_nameless_sizes(job.program->module.functions.at("main"))) {
    job.cost = Cost::invalid("an input has sizes that only a run of the whole model knows");
    return true;
  }
  TESSERA_TRY(const std::optional<Cost> declined, cost_of_declined(job));
  if (declined) {
    job.cost = *declined;
    return true;
  }
  TESSERA_TRY(const tune::Records found, services_.records.find(job.key));
  if (found.list.empty()) return false;
  const tune::Record& best = found.list.front();
  job.cost = best.failure.empty() ? Cost::of(best.time_us * 1e-6) : Cost::invalid(best.failure);
  return true;
}

tune::Record MeasuredCosts::record_of(const Job& job) const {
  tune::Record record{job.key, "collage", 0, job.measured.spread_us, job.cost.why_invalid()};
  if (!job.cost.is_invalid()) record.time_us = job.cost.seconds() * 1e6;
  return record;
}

// All go through their programs at the same pace, so that whatever the budget leaves out is the
// rest of each: generated code, with which others are compared, a little ahead.
std::vector<std::vector<MeasuredCosts::Job*>> MeasuredCosts::batches_of(
    std::vector<Job>& jobs) const {
  std::map<const byoc::BackendChoice*, std::vector<Job*>> by_choice;
  for (Job& job : jobs) {
    if (!job.cost.is_known()) by_choice[job.choice].push_back(&job);
  }
  std::vector<std::span<Job* const>> lists = {by_choice[nullptr]};
  for (const byoc::BackendChoice& choice : choices_) lists.emplace_back(by_choice[&choice]);
  std::vector<std::size_t> sizes;
  for (const auto& list : lists) sizes.push_back(list.size());
  std::vector<std::vector<Job*>> in_order;
  const std::size_t at_once = entries_at_once(services_.toolchain.compilers_at_once());
  for (const PartOfList& part : at_one_pace(sizes, at_once)) {
    const auto jobs_of_part = lists[part.list].subspan(part.begin, part.end - part.begin);
    in_order.emplace_back(jobs_of_part.begin(), jobs_of_part.end());
  }
  return in_order;
}

// Generated code for programs that have been measured before, or are to be measured later: it says
// what the others must compute.
void MeasuredCosts::add_references(std::span<Job* const> jobs) {
  std::vector<Job> wanted;
  for (const Job* job : jobs) {
    const relay::Function& main = job->program->module.functions.at("main");
    if (native_programs_.contains(job->numbers)) continue;
    if (byoc::operators_of(main).size() > kMostOperatorsCompared) continue;
    wanted.push_back(*job);
    wanted.back().choice = nullptr;
  }
  if (wanted.empty()) return;
  std::vector<Job*> pointers;
  for (Job& job : wanted) pointers.push_back(&job);
  if (build_and_keep(pointers)) keep_native(pointers);
}

void MeasuredCosts::keep_native(std::span<Job* const> jobs) {
  for (const Job* job : jobs) {
    if (!job->cost.is_invalid()) native_programs_[job->numbers] = job->program_now;
  }
}

// What cannot be built is looked for by halves.
Result<void> MeasuredCosts::measure(std::vector<Job*> jobs) {
  if (jobs.front()->choice != nullptr) add_references(jobs);
  const Result<void> built = build_and_keep(jobs);
  if (!built && jobs.size() > 1) {
    const auto middle = jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2);
    TESSERA_TRY_VOID(measure({jobs.begin(), middle}));
    return measure({middle, jobs.end()});
  }
  if (built) {
    run(jobs);
  } else {
    jobs.front()->cost = Cost::invalid(built.error().list.front().message);
  }
  for (const Job* job : jobs) {
    num_failed_ += job->cost.is_invalid();
    num_measured_ += job->cost.is_known() && !job->cost.is_invalid();
    TESSERA_TRY_VOID(services_.records.add(record_of(*job)));
  }
  if (jobs.front()->choice == nullptr) keep_native(jobs);
  return {};
}

Result<void> MeasuredCosts::build_and_keep(std::span<Job* const> jobs) {
  TESSERA_TRY(Batch batch, build(jobs));
  if (batch.file == nullptr) return {};
  files_.push_back(std::move(batch.file));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::string& name = batch.entries[i];
    if (!name.empty()) jobs[i]->program_now = files_.back()->programs().at(name);
  }
  return {};
}

// What the back end would choose from is measured before it chooses: its best is its candidate.
Result<void> MeasuredCosts::tune(const Module& module, const byoc::BackendChoice& choice) {
  if (!choice.backend->measures()) return {};
  const auto tasks =
      choice.backend->tuning_tasks(module, choice.target, likely_sizes(module.symbols));
  CompileOptions in_time = options_;
  in_time.tuning.budget_s = tuning_seconds_;
  TESSERA_TRY_VOID(driver::measure(tasks, in_time, services_.toolchain, {}));
  return {};
}

// The same of generated code.
Result<schedule::MeasuredAlgorithms> MeasuredCosts::algorithms_of(const Module& module) {
  TESSERA_TRY(std::vector<AlgorithmTask> tasks, algorithm_tasks(module, services_.code));
  if (tasks.empty()) return schedule::MeasuredAlgorithms();
  TESSERA_TRY_VOID(
      measure_algorithms(std::move(tasks), module,
                         {services_.code, services_.toolchain, services_.records, services_.device,
                          timing_of_parts(options_, model_bytes_), kTuningShare * seconds_left()}));
  return recorded_algorithms(services_.records, services_.device);
}

Result<MeasuredCosts::Batch> MeasuredCosts::build(std::span<Job* const> jobs) {
  std::vector<byoc::BackendChoice> choices;
  if (jobs.front()->choice != nullptr) choices.push_back(*jobs.front()->choice);
  choices.push_back(rest_);
  const Module& first = jobs.front()->program->module;
  byoc::PartitionOutcome outcome;
  outcome.module.constants = first.constants;
  outcome.module.symbols = first.symbols;
  outcome.module.targets = options_.targets;
  Batch batch;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    relay::Function& entry = outcome.module.functions[entry_name(i)];
    entry = with_size_params(jobs[i]->program->module.functions.at("main"));
    entry.attrs.set(std::string(relay::kEntryPoint), 1);
    batch.entries.push_back(entry_name(i));
  }
  TESSERA_TRY(outcome.module, ops::infer_types(std::move(outcome.module)));
  for (const std::string& name : batch.entries) byoc::partition_function(name, choices, outcome);
  if (jobs.front()->choice != nullptr) TESSERA_TRY_VOID(tune(outcome.module, choices.front()));
  byoc::CompileContext context{services_.toolchain, options_.jobs, false, {},
                               &services_.records,  services_.made};
  TESSERA_TRY(outcome, byoc::compile_backends(std::move(outcome), choices, context));
  for (std::size_t i = 0; i < jobs.size() && jobs[i]->choice != nullptr; ++i) {
    const auto left = byoc::operators_of(outcome.module.functions.at(batch.entries[i]));
    if (left.empty()) continue;
    jobs[i]->cost = Cost::invalid(fmt::format("it leaves {}", fmt::join(left, ", ")));
    outcome.module.functions.erase(batch.entries[i]);
    batch.entries[i].clear();
  }
  const DType precision = ops::float32_precision(outcome.module.externs);
  for (Job* job : jobs) {
    job->tolerance = ops::graph_tolerance(job->program->module.functions.at("main"), precision);
  }
  const bool has_entries = std::any_of(batch.entries.begin(), batch.entries.end(),
                                       [](const std::string& name) { return !name.empty(); });
  if (!has_entries) return batch;
  std::vector<Diagnostic> warnings;
  TESSERA_TRY(Module module, prepare_native(std::move(outcome.module), build_options_, warnings));
  TESSERA_TRY(schedule::MeasuredAlgorithms algorithms, algorithms_of(module));
  TESSERA_TRY(EntryFile file, EntryFile::build(std::move(module), compute_target(options_.targets),
                                               services_.code, services_.toolchain, &algorithms));
  // What a rule chose, for want of time, says little of what there will be once it is measured.
  for (Job* job : jobs) {
    const bool is_by_rule = job->choice == nullptr && algorithms.is_any_unknown();
    if (is_by_rule) job->key.version += ", some by a rule";
  }
  batch.file = std::make_unique<const EntryFile>(std::move(file));
  return batch;
}

Diagnostic MeasuredCosts::why_left(const std::string& function) const {
  if (options_.tuning.measures) {
    return error(Code::kBadOption, {},
                 "the budget was spent before {} candidates of `{}` had a cost", num_left_,
                 function)
        .with_remedy("raise --budget");
  }
  return error(Code::kBadOption, {},
               "{} candidates of `{}` have no record of what they cost here, and nothing may be "
               "measured",
               num_left_, function)
      .with_remedy("omit --no-measure, or name a file with --records that has them");
}

double MeasuredCosts::seconds_left() const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  return options_.tuning.budget_s - spent.count();
}

}  // namespace tessera::driver
