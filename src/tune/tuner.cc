// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <algorithm>
#include <csignal>

#include <fmt/ranges.h>

#include "link/link_library.h"
#include "support/child.h"
#include "support/files.h"
#include "support/subprocess.h"
#include "tune/printed_report.h"
#include "tune/turn_to_measure.h"

namespace tessera::tune {
namespace {

using byoc::TuningTask;
using Clock = link::Toolchain::Clock;

constexpr std::size_t kWaysPerKernel = 4;  // of a search, which compiles nothing
constexpr double kCompileShare = 0.75;     // of the budget; the rest is for measuring
constexpr double kLeastSeconds = 3;        // of a program's run
constexpr double kGraceS = 60;             // for its start and the reference; then it is stopped
constexpr int kProgramFailed = 1;          // its exit status when no candidate is at fault

Clock::time_point after(Clock::time_point begin, double seconds) {
  return begin +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double seconds_until(Clock::time_point end) {
  return std::chrono::duration<double>(end - Clock::now()).count();
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

// As a process is when memory runs out: it may be another one that took it.
bool is_killed_by_the_machine(const ProcessResult& ran) {
  return ran.signal == SIGKILL && !ran.timed_out;
}

// Why there is no measuring program, in which there is no kernel of a candidate: where it cannot be
// compiled, that candidates cannot be either says nothing about them.
std::string problem_of_program(const std::optional<Result<std::string>>& program) {
  if (!program) return fmt::format("{} before its measuring program was compiled", kBudgetSpent);
  return *program ? "" : program->error().list.front().message;
}

// Takes what a start of a search found; the problem if it names one otherwise than a start before.
std::string add_found(const std::map<std::size_t, std::string>& found,
                      std::map<std::size_t, std::string>& names) {
  for (const auto& [number, configuration] : found) {
    const auto [at, is_new] = names.emplace(number, configuration);
    if (is_new || at->second == configuration) continue;
    return fmt::format("the search: candidate {} is `{}` in one start and `{}` in another", number,
                       at->second, configuration);
  }
  return "";
}

}  // namespace

bool is_about_the_source(const Diagnostic& why, const link::Toolchain& toolchain) {
  return why.code == Code::kToolFailed && !toolchain.blames_the_machine(why);
}

double Tuner::seconds_left() const { return seconds_until(after(begin_, options_.budget_s)); }

Result<std::vector<TuneRow>> Tuner::run(std::span<const TuningTask> tasks) {
  begin_ = Clock::now();
  std::vector<Job> jobs;
  for (const TuningTask& task : tasks) {
    TESSERA_TRY(Job job, prepare(task));
    jobs.push_back(std::move(job));
  }
  while (start_round(jobs)) {
    compile(jobs);
    const auto in_round = static_cast<std::size_t>(
        std::count_if(jobs.begin(), jobs.end(), [](const Job& job) { return job.is_in_round(); }));
    std::size_t done = 0;
    for (Job& job : jobs) {
      if (!job.is_in_round()) continue;
      const double share = seconds_left() / static_cast<double>(in_round - done);
      TESSERA_TRY_VOID(measure(job, std::min(job.task->seconds, std::max(share, kLeastSeconds))));
      if (++done; options_.progress) options_.progress(done, in_round);
    }
  }
  std::vector<TuneRow> rows;
  for (Job& job : jobs) {
    TESSERA_TRY_VOID(summarize(job));
    rows.push_back(std::move(job.row));
  }
  return rows;
}

// The compiler of the host's code decides as well: one that is too new for nvcc, or
// broken, fails on each source. With another one it is tried again.
RecordKey Tuner::key_of_compiling(const RecordKey& key) const {
  RecordKey with_host = key;
  with_host.toolchain += ", " + toolchain_.identity();
  return with_host;
}

// That a kernel does not compile is known of this host compiler alone, where older files have it of
// any.
Result<std::set<std::string>> Tuner::known_of(const RecordKey& key, const Records& found) const {
  std::set<std::string> known;
  for (const Record& record : found.list) {
    if (!record.failure.starts_with(kNotCompiled)) known.insert(record.configuration);
  }
  TESSERA_TRY(const Records not_compiled, records_.find(key_of_compiling(key)));
  for (const Record& record : not_compiled.list) known.insert(record.configuration);
  return known;
}

// Which of the first kernels' candidates have no record.
Result<Tuner::Job> Tuner::prepare(const TuningTask& task) const {
  Job job{&task,
          {task.backend, task.version, describe(gpu_, task.device), options_.toolchain,
           task.workload.text()},
          {task.title, task.uses, {}, "", {}, 0, 0, 0, ""}};
  if (task.search) job.key.toolchain.clear();  // no compiler made what it finds
  if (!task.candidates.empty()) job.row.first = task.candidates.front().configuration;
  job.row.problem = mismatch(gpu_, task.device);
  if (!job.row.problem.empty()) return job;
  TESSERA_TRY(const Records found, records_.find(job.key));
  if (task.search) {
    job.row.known = found.list.size();
    job.wants_search = found.list.empty();
    return job;
  }
  TESSERA_TRY(const auto known, known_of(job.key, found));
  want_candidates(job, known);
  const bool any_valid = !found.list.empty() && found.list.front().failure.empty();
  if (task.first_valid && any_valid) job.wanted.clear();
  return job;
}

void Tuner::want_candidates(Job& job, const std::set<std::string>& known) const {
  const TuningTask& task = *job.task;
  std::set<std::string> kernels;
  for (std::size_t i = 0; i < task.candidates.size(); ++i) {
    const auto& [configuration, kernel] = task.candidates[i];
    if (kernels.insert(kernel->name).second &&
        kernels.size() > static_cast<std::size_t>(options_.kernels)) {
      break;
    }
    if (known.contains(configuration)) {
      ++job.row.known;
    } else {
      job.wanted.push_back(i);
    }
  }
}

// Takes what is wanted; of a task for which the first valid one will do, one by one. Nothing once
// the budget is spent.
bool Tuner::start_round(std::vector<Job>& jobs) const {
  bool any = false;
  for (Job& job : jobs) {
    job.now.clear();
    job.searches_now = false;
    if (job.wanted.empty() && !job.wants_search) continue;
    if (seconds_left() <= 0) {
      job.row.problem = fmt::format("{} before all of it was measured", kBudgetSpent);
      continue;
    }
    any = true;
    if (job.wants_search) {
      job.wants_search = false;
      job.searches_now = true;
      continue;
    }
    const auto end = job.task->first_valid ? job.wanted.begin() + 1 : job.wanted.end();
    job.now.assign(job.wanted.begin(), end);
    job.wanted.erase(job.wanted.begin(), end);
  }
  return any;
}

// Programs first; then each task's first kernel, each one's second: where time runs out, the
// presumably best of all are there.
void Tuner::compile(const std::vector<Job>& jobs) {
  std::vector<CompileJob> list;
  const auto need = [&](const CompileJob& source) {
    if (objects_.emplace(source.source, Object()).second) list.push_back(source);
  };
  std::vector<std::vector<const CompileJob*>> kernels;
  std::size_t most = 0;
  for (const Job& job : jobs) {
    if (job.now.empty()) continue;
    need(job.task->program);
    auto& own = kernels.emplace_back();
    for (const std::size_t i : job.now) {
      const CompileJob* kernel = job.task->candidates[i].kernel.get();
      if (own.empty() || own.back() != kernel) own.push_back(kernel);
    }
    most = std::max(most, own.size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    for (const auto& own : kernels) {
      if (i < own.size()) need(*own[i]);
    }
  }
  auto results = toolchain_.compile_until(list, after(begin_, options_.budget_s * kCompileShare));
  for (std::size_t i = 0; i < list.size(); ++i) objects_[list[i].source] = std::move(results[i]);
}

Result<void> Tuner::measure(Job& job, double seconds) {
  if (job.searches_now) return search(job, seconds);
  if (auto why = problem_of_program(objects_.at(job.task->program.source)); !why.empty()) {
    job.row.problem = std::move(why);
    job.wanted.clear();
    return {};
  }
  TESSERA_TRY_VOID(sort_out(job));
  if (job.now.empty()) return {};
  auto folder = TempDir::make("tessera-tune");
  if (!folder) {
    job.row.problem = folder.error().text();
    return {};
  }
  const auto program = build_program(job, *folder);
  if (!program) {
    job.row.problem = program.error().list.front().message;
    return {};
  }
  return run_program(job, *program, seconds);
}

// Leaves the candidates whose kernels were compiled, and records those that cannot be.
Result<void> Tuner::sort_out(Job& job) {
  std::vector<std::size_t> compiled;
  std::set<const CompileJob*> late;
  for (const std::size_t i : job.now) {
    const CompileJob* kernel = job.task->candidates[i].kernel.get();
    const Object& object = objects_.at(kernel->source);
    if (!object) {
      late.insert(kernel);
    } else if (*object) {
      compiled.push_back(i);
    } else if (const Diagnostic& why = object->error().list.front();
               is_about_the_source(why, toolchain_)) {
      ++job.row.failed;
      TESSERA_TRY_VOID(
          records_.add({key_of_compiling(job.key), job.task->candidates[i].configuration, 0, 0,
                        fmt::format("{}: {}", kNotCompiled, why.message)}));
    } else {
      job.row.problem = why.message;
    }
  }
  if (!late.empty()) {
    job.row.problem = fmt::format("{} before {} of its kernels {} compiled", kBudgetSpent,
                                  late.size(), late.size() == 1 ? "was" : "were");
  }
  job.now = std::move(compiled);
  return {};
}

Result<std::string> Tuner::build_program(const Job& job, const TempDir& folder) {
  std::vector<std::string> objects = {**objects_.at(job.task->program.source)};
  std::set<const CompileJob*> taken;
  for (const std::size_t i : job.now) {
    const CompileJob* kernel = job.task->candidates[i].kernel.get();
    if (taken.insert(kernel).second) objects.push_back(**objects_.at(kernel->source));
  }
  const CompileJob table = job.task->table(job.now);
  TESSERA_TRY(auto compiled, toolchain_.compile({&table, 1}));
  objects.push_back(std::move(compiled.front()));
  std::string path = folder.file("measure");
  TESSERA_TRY_VOID(link::link_program(toolchain_, objects, job.task->cuda_libraries, path));
  return path;
}

Result<void> Tuner::run_program(Job& job, const std::string& program, double seconds) {
  const auto start = [&](double left, const Skipped& skipped) {
    ProcessOptions limits;
    limits.time_limit_s = left + kGraceS;
    const TurnToMeasure turn(gpu_turns());
    const auto ran =
        run_process({program, fmt::format("{:.1f}", left), job.task->first_valid ? "1" : "0",
                     fmt::format("{}", fmt::join(skipped, ","))},
                    limits);
    if (!ran) return Ended{{}, "", ran.error().text(), true};
    Ended ended{parse_worker_report(ran->out)};
    ended.failure = "it ends with " + ran->outcome();
    const std::string why = first_line(ran->err);
    ended.complaint = "the measuring program: " + (why.empty() ? ran->outcome() : why);
    ended.is_own_fault = ran->exit_status == kProgramFailed || !ended.report.begun;
    ended.is_killed = is_killed_by_the_machine(*ran);
    return ended;
  };
  Names names;
  for (std::size_t i = 0; i < job.now.size(); ++i) {
    names[i] = job.task->candidates[job.now[i]].configuration;
  }
  return run_to_the_end(job, seconds, std::move(names), start);
}

// What it finds is known when it has been found.
Result<void> Tuner::search(Job& job, double seconds) {
  const auto start = [&](double left, const Skipped& skipped) {
    const byoc::Search one{left, job.task->first_valid,
                           kWaysPerKernel * static_cast<std::size_t>(options_.kernels), skipped};
    const TurnToMeasure turn(gpu_turns());
    const ChildResult child = run_in_child(
        [&](const Print& print) {
          PrintedReport report(print);
          job.task->search(one, report);
        },
        options_.silence_s);
    Ended ended{parse_worker_report(child.output)};
    const bool hangs = child.problem == kHangs;
    ended.failure = hangs ? child.problem : "it ends with " + child.problem;
    ended.complaint = child.thrown.empty() ? child.problem : child.thrown;
    if (ended.complaint.empty()) ended.complaint = "it ended before it was done";
    ended.complaint.insert(0, "the search: ");
    const bool has_a_culprit = ended.report.begun && !child.problem.empty();
    ended.is_own_fault = !child.thrown.empty() || !has_a_culprit;
    ended.is_killed = child.is_killed;
    return ended;
  };
  return run_to_the_end(job, seconds, {}, start);
}

// Starts a process until it is through with all that do not end it.
Result<void> Tuner::run_to_the_end(
    Job& job, double seconds, Names names,
    const std::function<Ended(double seconds, const Skipped&)>& start) {
  const Clock::time_point until = after(Clock::now(), seconds);
  const bool searches = job.searches_now;
  Skipped skipped;
  for (bool is_done = false; !is_done && (searches || skipped.size() < names.size());) {
    Ended ended = start(std::max(kLeastSeconds, seconds_until(until)), skipped);
    WorkerReport& report = ended.report;
    is_done = report.is_done;
    if (auto why = searches ? add_found(report.found, names) : ""; !why.empty()) {
      job.row.problem = std::move(why);
      return {};
    }
    const bool is_nobodys_fault = ended.is_own_fault || ended.is_killed;
    if (!is_done && !is_nobodys_fault) {
      report.measured.try_emplace(*report.begun, Measured{0, 0, ended.failure});
    }
    const std::size_t before = skipped.size();
    for (const auto& [number, measured] : report.measured) {
      if (!names.contains(number) || !skipped.insert(number).second) continue;
      TESSERA_TRY_VOID(add(job, names[number], measured));
    }
    if (is_done) break;
    if (is_nobodys_fault) {
      job.row.problem = ended.complaint;
      if (ended.is_own_fault) return {};
      skipped.insert(*report.begun);  // until the next time
    }
    if (skipped.size() == before) {
      job.row.problem = fmt::format("candidate {} was to be skipped, and began", *report.begun);
      return {};
    }
  }
  if (searches && names.contains(0)) job.row.first = names[0];
  count_unmeasured(job, names.size() - skipped.size());
  return {};
}

// A process that is done looked at as many as it had time for.
void Tuner::count_unmeasured(Job& job, std::size_t left) {
  if (left == 0 || job.task->first_valid || !job.row.problem.empty()) return;
  job.row.problem = fmt::format("{} before {} of its configurations {} measured", kBudgetSpent,
                                left, left == 1 ? "was" : "were");
}

Result<void> Tuner::add(Job& job, const std::string& configuration, const Measured& measured) {
  ++(measured.failure.empty() ? job.row.measured : job.row.failed);
  if (job.task->first_valid && measured.failure.empty()) job.wanted.clear();
  return records_.add(
      {job.key, configuration, measured.time_us, measured.spread_us, measured.failure});
}

Result<void> Tuner::summarize(Job& job) const {
  TESSERA_TRY(const Records found, records_.find(job.key));
  TESSERA_TRY(const Records not_compiled, records_.find(key_of_compiling(job.key)));
  for (const auto* records : {&not_compiled, &found}) {
    for (const Record& record : records->list) {
      if (record.failure.empty() && !job.row.best) job.row.best = record;
      if (record.configuration == job.row.first) job.row.first_record = record;
    }
  }
  return {};
}

}  // namespace tessera::tune
