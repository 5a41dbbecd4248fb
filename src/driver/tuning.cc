// SPDX-License-Identifier: Apache-2.0
#include "driver/tuning.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/table.h"
#include "types/likely_size.h"

namespace tessera::driver {
namespace {

// The compiler that machine code of kernels comes from. Where it is installed does not matter.
Result<std::string> device_toolchain() {
  TESSERA_TRY(const link::CudaCompiler cuda, link::find_cuda_compiler());
  return cuda.identity.substr(0, cuda.identity.find(" ["));
}

// What a record is to the tasks, the best of all counting.
enum class Origin : std::uint8_t {
  kNoTask,        // of a back end that has no task here
  kOtherKernels,  // of one that has, but of kernels that it does not make any more
  kOtherDevice,   // of a device that none of them is for
  kFits,
};
Origin origin_of(const tune::Record& record, const byoc::TuningTask& task) {
  if (task.backend != record.key.backend) return Origin::kNoTask;
  if (task.version != record.key.version) return Origin::kOtherKernels;
  return byoc::is_of_device(record.key.device, task.device) ? Origin::kFits : Origin::kOtherDevice;
}
Origin origin_of(const tune::Record& record, const std::vector<byoc::TuningTask>& tasks) {
  Origin origin = Origin::kNoTask;
  for (const byoc::TuningTask& task : tasks) origin = std::max(origin, origin_of(record, task));
  return origin;
}

// What is searched for may be anything.
bool has_kernel(const byoc::TuningTask& task, const std::string& kernel) {
  return task.search ||
         std::any_of(task.candidates.begin(), task.candidates.end(), [&](const auto& candidate) {
           return byoc::kernel_of(candidate.configuration) == kernel;
         });
}

// Is it a time that will not be taken, though it is of a task's work and device? The kernel is then
// none of its candidates, as options of the target narrow them, or by a name that none has.
bool is_of_no_kernel(const tune::Record& record, const std::vector<byoc::TuningTask>& tasks) {
  if (!record.failure.empty()) return false;
  bool is_of_a_task = false;
  for (const byoc::TuningTask& task : tasks) {
    if (origin_of(record, task) != Origin::kFits) continue;
    if (!task.workload.sizes_in(record.key.workload)) continue;
    if (has_kernel(task, byoc::kernel_of(record.configuration))) return false;
    is_of_a_task = true;
  }
  return is_of_a_task;
}

std::optional<Diagnostic> warning_of_no_kernel(const std::string& path,
                                               const std::vector<tune::Record>& records,
                                               const std::vector<byoc::TuningTask>& tasks) {
  constexpr std::size_t kMostNamed = 3;
  std::set<std::string> kernels;
  std::size_t count = 0;
  for (const tune::Record& record : records) {
    if (!is_of_no_kernel(record, tasks)) continue;
    ++count;
    kernels.insert(fmt::format("`{}`", byoc::kernel_of(record.configuration)));
  }
  if (count == 0) return std::nullopt;
  std::vector<std::string> named;
  for (const std::string& kernel : kernels) {
    if (named.size() < kMostNamed) named.push_back(kernel);
  }
  if (named.size() < kernels.size()) {
    named.push_back(fmt::format("{} more", kernels.size() - named.size()));
  }
  return warning(Code::kBadOption, {},
                 "the records in `{}`: {} of kernels that the targets do not have, {}, {} skipped",
                 path, count, fmt::join(named, ", "), count == 1 ? "is" : "are");
}

// The records of a file that will not be taken: damaged ones, and others by whose they are.
std::vector<Diagnostic> warnings_of_skipped(const std::string& path, const tune::Records& records,
                                            const std::vector<byoc::TuningTask>& tasks) {
  std::vector<Diagnostic> all;
  if (auto damaged = tune::warning_of_damaged(path, records.damaged)) {
    all.push_back(*std::move(damaged));
  }
  std::map<std::string, int> of_kernels, of_devices;
  for (const tune::Record& record : records.list) {
    const Origin origin = origin_of(record, tasks);
    if (origin == Origin::kOtherKernels) {
      ++of_kernels[fmt::format("{} {}", record.key.backend, record.key.version)];
    }
    if (origin == Origin::kOtherDevice) ++of_devices[record.key.device];
  }
  const auto add = [&](const char* what, const std::map<std::string, int>& counts) {
    for (const auto& [whose, count] : counts) {
      all.push_back(warning(Code::kBadOption, {}, "the records in `{}`: {} of {}, `{}`, {} skipped",
                            path, count, what, whose, count == 1 ? "is" : "are"));
    }
  };
  add("another GPU", of_devices);
  add("kernels of another version", of_kernels);
  if (auto none = warning_of_no_kernel(path, records.list, tasks)) all.push_back(*std::move(none));
  return all;
}

std::optional<Diagnostic> warning_of_several_devices(const std::string& path,
                                                     const std::vector<tune::Record>& records,
                                                     const std::vector<byoc::TuningTask>& tasks) {
  std::set<std::string> fitting;
  for (const tune::Record& record : records) {
    if (origin_of(record, tasks) != Origin::kFits) continue;
    fitting.insert(fmt::format("`{}`", record.key.device));
  }
  if (fitting.size() < 2) return std::nullopt;
  return warning(Code::kBadOption, {},
                 "the records in `{}` are of {} GPUs that the target may be: {}; the fastest of "
                 "all is taken",
                 path, fitting.size(), fmt::join(fitting, ", "))
      .with_remedy("say which with -model='NAME' of the target");
}

// What the records have no time for, or none at the likely sizes.
struct Unmeasured {
  std::size_t untried = 0, at_other_sizes = 0;
  std::size_t in_vain = 0;  // with these failures, of all of them
  std::vector<byoc::Failure> failures;
};
Result<Unmeasured> unmeasured_of(const tune::RecordStore& store,
                                 const std::vector<byoc::TuningTask>& tasks) {
  Unmeasured all;
  for (const byoc::TuningTask& task : tasks) {
    TESSERA_TRY(const byoc::Ranking measured,
                store.ranking(task.backend, task.version, task.device, task.workload));
    if (!measured.configurations.empty()) {
      all.at_other_sizes += measured.sizes != task.workload.sizes;
      continue;
    }
    ++(measured.failures.empty() ? all.untried : all.in_vain);
    all.failures.insert(all.failures.end(), measured.failures.begin(), measured.failures.end());
  }
  return all;
}

// To measure is no remedy where that has just been done: what has no time then failed, or its turn
// did not come.
Result<std::vector<Diagnostic>> warnings_of_unmeasured(const std::string& path,
                                                       const tune::RecordStore& store,
                                                       const std::vector<byoc::TuningTask>& tasks,
                                                       const TuningOptions& tuning) {
  TESSERA_TRY(const Unmeasured found, unmeasured_of(store, tasks));
  std::vector<Diagnostic> all;
  const auto add = [&](std::size_t count, const std::string& lack, const std::string& way,
                       const std::string& remedy) {
    if (count == 0) return;
    all.push_back(warning(Code::kBadOption, {},
                          "the records in `{}` have {} {} of {} products, which are chosen {}",
                          path, lack, count, tasks.size(), way)
                      .with_remedy(remedy));
  };
  const auto unless_just_measured = [&](const std::string& remedy) {
    return tuning.measures ? remedy : "`tessera tune` measures them, on the device";
  };
  add(found.untried, "nothing for", "without measuring",
      unless_just_measured("give more time with --budget"));
  if (const std::size_t count = found.failures.size(); count > 0) {
    const auto& [configuration, reason, is_of_kernel] = found.failures.front();
    add(found.in_vain,
        fmt::format("no usable time, but {} {}, for", count, count == 1 ? "failure" : "failures"),
        fmt::format("without measuring; one is `{}`: {}", configuration, reason),
        help_after_failures(path));
  }
  add(found.at_other_sizes, "nothing at the likely sizes of", "by what was measured at the nearest",
      unless_just_measured(help_after_failures(path)));
  return all;
}

// Before a file is made for what cannot be measured.
Result<void> check_gpu(const tune::Gpu& gpu, const std::vector<byoc::TuningTask>& tasks) {
  for (const byoc::TuningTask& task : tasks) {
    const std::string why = tune::mismatch(gpu, task.device);
    if (why.empty()) continue;
    return fail(error(Code::kBackendMissing, {}, "{}", why)
                    .with_remedy("name this machine's GPU in the targets, or measure on theirs"));
  }
  return {};
}

}  // namespace

bool measures(const Target& target) {
  const byoc::Backend* backend = backends::find_backend(target.name());
  return backend != nullptr && (backend->measures() || backend->makes_on_device(target));
}

std::string help_to_measure(const std::vector<Target>& targets) {
  if (std::any_of(targets.begin(), targets.end(), measures)) return "";
  std::vector<std::string> ways;
  for (const byoc::Backend* backend : backends::all_backends()) {
    if (!backend->measures()) continue;
    const Target target(backend->name());
    ways.push_back(
        fmt::format("`--target {} --target {}`", to_string(target.device()), target.name()));
  }
  return fmt::format("name a back end that measures: {}", fmt::join(ways, ", "));
}

std::optional<Diagnostic> vain_tuning(const CompileOptions& options) {
  std::string help = help_to_measure(options.targets);
  if (help.empty() || options.partition == Partition::kCollage) return std::nullopt;
  return warning(
             Code::kBadOption, {},
             "{} has no effect: neither generated code nor a back end of the targets has a choice",
             options.tuning.measures ? "--tune" : "--records")
      .with_remedy(std::move(help));
}

std::vector<byoc::TuningTask> tuning_tasks(const Partitioned& parts) {
  std::vector<byoc::TuningTask> all;
  const Module& module = parts.outcome.module;
  const auto sizes = likely_sizes(module.symbols);
  for (const auto* choices : {&parts.choices, &parts.named_only}) {
    for (const byoc::BackendChoice& choice : *choices) {
      if (!choice.backend->measures()) continue;
      auto tasks = choice.backend->tuning_tasks(module, choice.target, sizes);
      std::move(tasks.begin(), tasks.end(), std::back_inserter(all));
    }
  }
  return all;
}

Result<std::string> records_path(const CompileOptions& options) {
  if (!options.records.empty()) return options.records;
  const std::string folder = link::ObjectCache::default_folder();
  if (folder.empty()) {
    return fail(error(Code::kBadOption, {}, "there is no folder to keep measurements in")
                    .with_remedy("name a file with --records, or a folder in TESSERA_CACHE_DIR"));
  }
  std::error_code reported_when_opened;
  std::filesystem::create_directories(folder, reported_when_opened);
  return folder + "/records.sqlite";
}

Result<void> warn_of_skipped(const std::string& path, const std::vector<byoc::TuningTask>& tasks,
                             std::vector<Diagnostic>& warnings) {
  std::error_code is_not_there;
  const std::uintmax_t bytes = std::filesystem::file_size(path, is_not_there);
  if (is_not_there || bytes == 0) return {};
  TESSERA_TRY(const tune::RecordStore store, tune::RecordStore::open_to_read(path));
  TESSERA_TRY(const tune::Records records, store.all());
  for (Diagnostic& w : warnings_of_skipped(path, records, tasks)) warnings.push_back(std::move(w));
  return {};
}

std::string help_after_failures(const std::string& path) {
  return fmt::format(
      "`tessera records {}` says what failed and why; try more with --candidates or --budget",
      path);
}

Result<tune::RecordStore> read_records(const CompileOptions& options,
                                       const std::vector<byoc::TuningTask>& tasks,
                                       std::vector<Diagnostic>& warnings) {
  TESSERA_TRY(const std::string path, records_path(options));
  std::error_code cannot_be_seen;
  if (!std::filesystem::exists(path, cannot_be_seen)) {
    return fail(error(Code::kFileNotFound, {}, "there are no records in `{}`", path)
                    .with_remedy("check the path; `tessera tune` and --tune write such a file"));
  }
  TESSERA_TRY(tune::RecordStore store, tune::RecordStore::open_to_read(path));
  TESSERA_TRY(const tune::Records records, store.all());
  auto skipped = warnings_of_skipped(path, records, tasks);
  if (auto several = warning_of_several_devices(path, records.list, tasks)) {
    warnings.push_back(*std::move(several));
  }
  TESSERA_TRY(auto unmeasured, warnings_of_unmeasured(path, store, tasks, options.tuning));
  for (auto* list : {&skipped, &unmeasured}) {
    std::move(list->begin(), list->end(), std::back_inserter(warnings));
  }
  return store;
}

Result<std::vector<tune::TuneRow>> measure(const std::vector<byoc::TuningTask>& tasks,
                                           const CompileOptions& options,
                                           link::Toolchain& toolchain, const Progress& progress) {
  if (tasks.empty()) return std::vector<tune::TuneRow>();
  TESSERA_TRY(tune::Gpu gpu, tune::find_gpu());
  TESSERA_TRY_VOID(check_gpu(gpu, tasks));
  tune::TunerOptions tuner{options.tuning.budget_s, options.tuning.kernels, "", progress.measured};
  const bool compiles = std::any_of(tasks.begin(), tasks.end(),
                                    [](const byoc::TuningTask& task) { return !task.search; });
  if (compiles) {
    TESSERA_TRY(tuner.toolchain, device_toolchain());
  }
  TESSERA_TRY(const std::string path, records_path(options));
  TESSERA_TRY(tune::RecordStore store, tune::RecordStore::open(path));
  return tune::Tuner(toolchain, store, std::move(gpu), std::move(tuner)).run(tasks);
}

Result<void> check_measured(const std::vector<tune::TuneRow>& rows,
                            std::vector<Diagnostic>& warnings) {
  Diagnostics errors;
  std::set<std::pair<bool, std::string>> told;
  for (const tune::TuneRow& row : rows) {
    if (row.problem.empty() || row.problem.starts_with(tune::kBudgetSpent)) continue;
    if (!told.emplace(row.best.has_value(), row.problem).second) continue;
    Diagnostic why = error(Code::kToolFailed, {}, "{} of `{}` could be measured: {}",
                           row.best ? "not all" : "nothing", row.title, row.problem)
                         .with_remedy(
                             "measure again when that is mended; what was measured is on "
                             "record");
    if (row.best) {
      why.severity = Severity::kWarning;
      warnings.push_back(std::move(why));
    } else {
      errors.add(std::move(why));
    }
  }
  if (errors.empty()) return {};
  return fail(std::move(errors));
}

}  // namespace tessera::driver
