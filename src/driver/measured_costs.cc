// SPDX-License-Identifier: Apache-2.0
#include "driver/measured_costs.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "byoc/compiler_functions.h"
#include "byoc/placer.h"
#include "collage/program.h"
#include "driver/pipeline.h"
#include "driver/placement.h"
#include "driver/run_inputs.h"
#include "driver/session_timing.h"
#include "ops/inference/infer_types.h"
#include "relay/function_attributes.h"
#include "support/hash.h"
#include "tune/child.h"
#include "tune/worker_report.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using collage::Cost;

// Enough that compilers have work for each core, and little enough that one failure costs little.
constexpr std::size_t kEntriesAtOnce = 24;
constexpr double kSilenceSeconds = 60;  // of a child; a first call may make plans for a while

// What keys of costs begin with, before the back end.
constexpr std::string_view kCosts = "collage ";

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

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

Result<std::string> gpu_of_costs(const CompileOptions& options, const Target& machine,
                                 const tune::RecordStore& records) {
  const std::string arch = machine.get_string("arch") + " ";
  const Result<tune::Gpu> gpu = tune::find_gpu();
  const std::string unfit = gpu ? tune::mismatch(*gpu, arch) : gpu.error().list.front().message;
  if (unfit.empty()) return tune::describe(*gpu, arch);
  if (options.tuning.measures) {
    return fail(error(Code::kBackendMissing, {}, "candidates are measured on the GPU: {}", unfit)
                    .with_remedy("compile on the machine with the GPU, or give its records with "
                                 "--records FILE and --no-measure"));
  }
  TESSERA_TRY(const tune::Records all, records.all());
  std::set<std::string> devices;
  for (const tune::Record& r : all.list) {
    const bool is_cost = r.key.backend.starts_with(kCosts);
    if (is_cost && r.key.device.starts_with(arch)) devices.insert(r.key.device);
  }
  if (devices.size() == 1) return *devices.begin();
  return fail(error(Code::kBadOption, {}, "the records have costs of {} GPUs of {}", devices.size(),
                    machine.get_string("arch"))
                  .with_remedy("give those of one GPU with --records FILE"));
}

}  // namespace

Result<std::string> device_of_costs(const CompileOptions& options,
                                    const tune::RecordStore& records) {
  const Target machine = compute_target(options.targets);
  if (machine.device() == DeviceType::kCuda) return gpu_of_costs(options, machine, records);
  return fmt::format("{}, {} threads, {}", cpu_name(),
                     options.threads > 0 ? std::to_string(options.threads) : "all",
                     short_text(machine));
}

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
    std::size_t done = 0;
    for (std::vector<Job*>& batch : batches_of(jobs)) {
      done += batch.size();
      if (is_spent()) break;
      TESSERA_TRY_VOID(measure(std::move(batch)));
      if (services_.progress) services_.progress(done, unknown);
    }
  }
  std::vector<Cost> costs;
  for (const Job& job : jobs) {
    num_left_ += !job.cost.is_known();
    costs.push_back(job.cost);
  }
  return costs;
}

MeasuredCosts::Job MeasuredCosts::job_of(const collage::CandidateProgram& program) const {
  Job job;
  job.program = &program;
  job.choice = find_choice(program.target.name(), choices_);
  const relay::Function& main = program.module.functions.at("main");
  job.key = {
      fmt::format("{}{}", kCosts, job.choice != nullptr ? job.choice->backend->name() : "native"),
      job.choice != nullptr ? short_text(job.choice->target) : "", services_.device,
      services_.toolchain.identity(),
      workload_text(main, collage::program_text(main, program.module.constants))};
  job.numbers = job.key.workload + values_of_constants(main, program.module.constants);
  return job;
}

Result<bool> MeasuredCosts::look_up(Job& job) const {
  TESSERA_TRY(const tune::Records found, services_.records.find(job.key));
  if (found.list.empty()) return false;
  const tune::Record& best = found.list.front();
  job.cost = best.failure.empty() ? Cost::of(best.time_us * 1e-6) : Cost::invalid(best.failure);
  return true;
}

Result<void> MeasuredCosts::record(const Job& job) {
  tune::Record record{job.key, "collage", 0, job.spread * 1e6, job.cost.why_invalid()};
  if (!job.cost.is_invalid()) record.time_us = job.cost.seconds() * 1e6;
  return services_.records.add(record);
}

// Native code first: others are compared with it.
std::vector<std::vector<MeasuredCosts::Job*>> MeasuredCosts::batches_of(
    std::vector<Job>& jobs) const {
  std::map<const byoc::BackendChoice*, std::vector<Job*>> by_choice;
  for (Job& job : jobs) {
    if (!job.cost.is_known()) by_choice[job.choice].push_back(&job);
  }
  std::vector<std::vector<Job*>> batches;
  const auto add = [&](const byoc::BackendChoice* choice) {
    const std::vector<Job*>& all = by_choice[choice];
    for (std::size_t i = 0; i < all.size(); i += kEntriesAtOnce) {
      batches.emplace_back(
          all.begin() + static_cast<std::ptrdiff_t>(i),
          all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), i + kEntriesAtOnce)));
    }
  };
  add(nullptr);
  for (const byoc::BackendChoice& choice : choices_) add(&choice);
  return batches;
}

// Generated code for programs that have been measured before, or are to be measured later: it says
// what the others must compute.
void MeasuredCosts::add_references(std::span<Job* const> jobs) {
  std::vector<Job> wanted;
  for (const Job* job : jobs) {
    const relay::Function& main = job->program->module.functions.at("main");
    if (native_entries_.contains(job->numbers)) continue;
    if (byoc::operators_of(main).size() > kMostOperatorsCompared) continue;
    wanted.push_back(*job);
    wanted.back().choice = nullptr;
  }
  if (wanted.empty()) return;
  std::vector<Job*> pointers;
  for (Job& job : wanted) pointers.push_back(&job);
  if (Result<Batch> batch = build(pointers)) keep_native(pointers, *std::move(batch));
}

void MeasuredCosts::keep_native(std::span<Job* const> jobs, Batch batch) {
  native_.push_back(std::make_unique<EntryLibrary>(std::move(batch.library)));
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i]->cost.is_invalid()) continue;
    native_entries_[jobs[i]->numbers] = {native_.back().get(), batch.entries[i]};
  }
}

// What cannot be built is looked for by halves.
Result<void> MeasuredCosts::measure(std::vector<Job*> jobs) {
  if (jobs.front()->choice != nullptr) add_references(jobs);
  Result<Batch> batch = build(jobs);
  if (!batch) {
    if (jobs.size() == 1) {
      jobs.front()->cost = Cost::invalid(batch.error().list.front().message);
      ++num_failed_;
      return record(*jobs.front());
    }
    const auto middle = jobs.begin() + static_cast<std::ptrdiff_t>(jobs.size() / 2);
    TESSERA_TRY_VOID(measure({jobs.begin(), middle}));
    return measure({middle, jobs.end()});
  }
  TESSERA_TRY_VOID(run(jobs, *batch));
  for (const Job* job : jobs) {
    num_failed_ += job->cost.is_invalid();
    num_measured_ += job->cost.is_known() && !job->cost.is_invalid();
    TESSERA_TRY_VOID(record(*job));
  }
  if (jobs.front()->choice == nullptr) keep_native(jobs, *std::move(batch));
  return {};
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
    entry = jobs[i]->program->module.functions.at("main");
    entry.attrs.set(std::string(relay::kEntryPoint), 1);
    batch.entries.push_back(entry_name(i));
  }
  TESSERA_TRY(outcome.module, ops::infer_types(std::move(outcome.module)));
  for (const std::string& name : batch.entries) byoc::partition_function(name, choices, outcome);
  byoc::CompileContext context{services_.toolchain, options_.jobs, false, {}};
  TESSERA_TRY(outcome, byoc::compile_backends(std::move(outcome), choices, context));
  for (std::size_t i = 0; i < jobs.size() && jobs[i]->choice != nullptr; ++i) {
    const auto left = byoc::operators_of(outcome.module.functions.at(batch.entries[i]));
    if (left.empty()) continue;
    jobs[i]->cost = Cost::invalid(fmt::format("it leaves {}", fmt::join(left, ", ")));
    outcome.module.functions.erase(batch.entries[i]);
    batch.entries[i].clear();
  }
  const bool has_entries = std::any_of(batch.entries.begin(), batch.entries.end(),
                                       [](const std::string& name) { return !name.empty(); });
  if (!has_entries) return batch;
  std::vector<Diagnostic> warnings;
  TESSERA_TRY(Module module, prepare_native(std::move(outcome.module), build_options_, warnings));
  TESSERA_TRY(batch.library,
              EntryLibrary::build(std::move(module), compute_target(options_.targets),
                                  services_.code, services_.toolchain));
  return batch;
}

// Children until all entries have a result: one that ends early costs the entry that it was at.
Result<void> MeasuredCosts::run(std::span<Job* const> jobs, const Batch& batch) {
  std::set<std::size_t> left;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!batch.entries[i].empty()) left.insert(i);
  }
  while (!left.empty()) {
    const tune::ChildResult child = tune::run_in_child(
        [&](const tune::Print& print) {
          for (const std::size_t i : left) {
            print(tune::begin_line(i));
            const auto reference = native_entries_.find(jobs[i]->numbers);
            const Result<tune::Measured> measured =
                measure_entry({&batch.library, batch.entries[i]},
                              reference == native_entries_.end() ? nullptr : &reference->second);
            print(tune::line_of(
                i, measured ? *measured
                            : tune::Measured{0, 0, measured.error().list.front().message}));
          }
        },
        kSilenceSeconds);
    tune::WorkerReport report = tune::parse_worker_report(child.output);
    if (!child.problem.empty()) {
      const std::size_t at = report.begun.value_or(*left.begin());
      report.measured.try_emplace(at, tune::Measured{0, 0, child.problem});
    }
    if (report.measured.empty()) report.measured[*left.begin()] = {0, 0, "it was not timed"};
    for (const auto& [i, measured] : report.measured) {
      left.erase(i);
      jobs[i]->spread = measured.spread_us * 1e-6;
      jobs[i]->cost = measured.failure.empty() ? Cost::of(measured.time_us * 1e-6)
                                               : Cost::invalid(measured.failure);
    }
  }
  return {};
}

Result<tune::Measured> MeasuredCosts::measure_entry(const Entry& entry,
                                                    const Entry* reference) const {
  const exec::SessionOptions threads{.threads = options_.threads};
  TESSERA_TRY(const auto session, entry.library->open(entry.name, threads));
  TESSERA_TRY(const RunInputs ran,
              run_with_random_inputs(*session, entry.library->likely_shapes(entry.name)));
  if (reference != nullptr) {
    TESSERA_TRY(const auto other, reference->library->open(reference->name, threads));
    TESSERA_TRY(const std::vector<Tensor> wanted, other->run(ran.inputs));
    std::string wrong = wrong_numbers(ran.outputs, wanted, 1, "generated code's");
    if (!wrong.empty()) return tune::Measured{0, 0, std::move(wrong)};
  }
  TESSERA_TRY_VOID(session->bind(ran.inputs));
  CacheFiller filler(model_bytes_);
  TESSERA_TRY(std::vector<double> seconds, time_runs(*session, {}, filler));
  const Quartiles q = quartiles(std::move(seconds));
  return tune::Measured{q.median * 1e6, q.spread * 1e6, ""};
}

bool MeasuredCosts::is_spent() const {
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
  return spent.count() > options_.tuning.budget_s;
}

}  // namespace tessera::driver
