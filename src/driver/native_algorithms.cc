// SPDX-License-Identifier: Apache-2.0
#include "driver/native_algorithms.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "driver/device_of_costs.h"
#include "driver/entries.h"
#include "driver/entry_file.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;
using schedule::AlgorithmChoice;
using schedule::MeasuredAlgorithms;

// Built together, between two looks at the clock.
constexpr std::size_t kTasksAtOnce = 8;
// With less, nothing is begun: compilers take about as long, and are not interrupted.
constexpr double kLeastSeconds = 5;

// Kernels as entries of a module like another.
Result<Module> module_of(const Module& like, std::map<std::string, Function> entries) {
  Module module;
  module.constants = like.constants;
  module.symbols = like.symbols;
  module.targets = like.targets;
  module.functions = std::move(entries);
  return ops::infer_types(std::move(module));
}

std::string entry_name(std::size_t task) { return fmt::format("kernel_{}", task); }

// The bodies in which there is work that may have several algorithms.
std::set<relay::RegionId> regions_to_ask(const Function& f) {
  std::set<relay::RegionId> regions;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id(i);
    if (relay::is_call_of(f, id, schedule::kOperatorWithAlgorithms)) regions.insert(f[id].region);
  }
  return regions;
}

// The literal that a call is of, if that is one kernel of tensors; invalid if not.
NodeId called_kernel(const Function& f, NodeId call) {
  if (f.as<relay::ValueCall>(call) == nullptr) return {};
  const auto operands = f.operands(call);
  const auto* literal = f.as<relay::Literal>(operands[0]);
  const bool has_tuples =
      std::ranges::any_of(operands.subspan(1), [&](NodeId id) { return f.type(id).is_tuple(); });
  if (literal == nullptr || !relay::is_primitive(literal->attrs) || has_tuples) return {};
  return operands[0];
}

// A call of a kernel as an entry: constants inside, tensors from outside.
Function as_entry(const Function& f, NodeId call, const Function& kernel) {
  relay::FunctionBuilder b;
  std::vector<NodeId> arguments;
  for (const NodeId operand : f.operands(call).subspan(1)) {
    const bool is_constant = f.as<relay::Constant>(operand) != nullptr;
    const std::string name = fmt::format("p{}", arguments.size());
    arguments.push_back(is_constant ? b.copy(f, operand, {}) : b.param(name, f.type(operand)));
  }
  const NodeId result = b.call_value(relay::embed(b, kernel), arguments);
  relay::Attrs attrs;
  attrs.set(std::string(relay::kEntryPoint), 1);
  return b.finish(result, std::move(attrs));
}

Result<std::vector<AlgorithmChoice>> asked_by(const Function& entry, const Module& module,
                                              const Target& target) {
  MeasuredAlgorithms nothing;
  emit::EntryPlans plans;
  TESSERA_TRY(Module alone, module_of(module, {{entry_name(0), entry}}));
  TESSERA_TRY_VOID(lower_entries(std::move(alone), target, plans, &nothing));
  return nothing.asked();
}

struct Built {
  LibraryProgram program = {};
  std::optional<Diagnostic> why_not = {};
};

class AlgorithmMeasuring {
 public:
  AlgorithmMeasuring(std::vector<AlgorithmTask> tasks, const Module& module,
                     const AlgorithmServices& services)
      : tasks_(std::move(tasks)),
        module_(module),
        services_(services),
        begin_(std::chrono::steady_clock::now()) {}

  Result<std::vector<tune::TuneRow>> run() {
    TESSERA_TRY(std::vector<tune::TuneRow> rows, take_known());
    if (services_.seconds < kLeastSeconds) return out_of_time(std::move(rows));
    if (tasks_.empty()) return rows;
    TESSERA_TRY(const std::string command, services_.toolchain.support_files().command());
    for (const AlgorithmTask& task : tasks_) built_.emplace_back(task.choice.algorithms.size());
    for (std::size_t begin = 0; begin < tasks_.size(); begin += kTasksAtOnce) {
      std::vector<std::size_t> some(std::min(kTasksAtOnce, tasks_.size() - begin));
      std::iota(some.begin(), some.end(), begin);
      if (!is_time_spent()) TESSERA_TRY_VOID(build(some));
      for (const std::size_t t : some) {
        TESSERA_TRY(tune::TuneRow row, measured(t, command));
        rows.push_back(std::move(row));
      }
    }
    return rows;
  }

 private:
  tune::RecordKey key_of(const AlgorithmTask& task) const {
    return {std::string(kNativeAlgorithms), kVersionOfAlgorithms, services_.device,
            services_.toolchain.identity(), task.choice.workload};
  }
  static tune::TuneRow row_of(const AlgorithmTask& task) {
    tune::TuneRow row;
    row.title = task.choice.workload;
    row.uses = task.uses;
    row.first = task.choice.algorithms.front();
    return row;
  }

  bool is_time_spent() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    return spent.count() > services_.seconds;
  }

  std::vector<tune::TuneRow> out_of_time(std::vector<tune::TuneRow> rows) const {
    for (const AlgorithmTask& task : tasks_) {
      rows.push_back(row_of(task));
      rows.back().problem = tune::kBudgetSpent;
    }
    return rows;
  }

  // The rows of tasks of which all algorithms have records; the others are left.
  Result<std::vector<tune::TuneRow>> take_known() {
    std::vector<tune::TuneRow> rows;
    std::vector<AlgorithmTask> unknown;
    for (AlgorithmTask& task : tasks_) {
      TESSERA_TRY(const tune::Records known, services_.records.find(key_of(task)));
      const bool is_known = std::ranges::all_of(task.choice.algorithms, [&](const auto& name) {
        return std::ranges::find(known.list, name, &tune::Record::configuration) !=
               known.list.end();
      });
      if (!is_known) {
        unknown.push_back(std::move(task));
        continue;
      }
      tune::TuneRow& row = rows.emplace_back(row_of(task));
      row.known = task.choice.algorithms.size();
      for (const tune::Record& record : known.list) compare(record, row);
    }
    tasks_ = std::move(unknown);
    return rows;
  }

  // A library for the first algorithm of some tasks, one for the second, and so on. Where that
  // cannot be built, each task has one of its own: what does not compile costs itself.
  Result<void> build(std::span<const std::size_t> tasks) {
    std::size_t most = 0;
    for (const std::size_t t : tasks) most = std::max(most, built_[t].size());
    for (std::size_t i = 0; i < most; ++i) {
      if (build(i, tasks)) continue;
      for (const std::size_t t : tasks) {
        if (const Result<void> alone = build(i, {&t, 1}); !alone) {
          built_[t][i].why_not = alone.error().list.front();
        }
      }
    }
    return {};
  }

  Result<void> build(std::size_t algorithm, std::span<const std::size_t> tasks) {
    std::map<std::string, Function> entries;
    MeasuredAlgorithms::Fastest given;
    for (const std::size_t t : tasks) {
      const AlgorithmChoice& choice = tasks_[t].choice;
      if (algorithm >= choice.algorithms.size()) continue;
      entries[entry_name(t)] = tasks_[t].kernel;
      given[choice.workload] = choice.algorithms[algorithm];
    }
    if (entries.empty()) return {};
    MeasuredAlgorithms algorithms(std::move(given));
    TESSERA_TRY(Module module, module_of(module_, std::move(entries)));
    TESSERA_TRY(EntryFile file, EntryFile::build(std::move(module), compute_target(module_.targets),
                                                 services_.code, services_.toolchain, &algorithms));
    for (const std::size_t t : tasks) {
      const auto program = file.programs().find(entry_name(t));
      if (program != file.programs().end()) built_[t][algorithm].program = program->second;
    }
    files_.push_back(std::move(file));
    return {};
  }

  Result<tune::TuneRow> measured(std::size_t t, const std::string& command) const {
    const AlgorithmTask& task = tasks_[t];
    tune::TuneRow row = row_of(task);
    if (is_time_spent()) {
      row.problem = tune::kBudgetSpent;
      return row;
    }
    // What the others are compared with is the last one.
    std::vector<std::string> names;
    std::vector<LibraryProgram> programs;
    for (const bool is_direct : {false, true}) {
      for (std::size_t i = 0; i < built_[t].size(); ++i) {
        const std::string& name = task.choice.algorithms[i];
        if ((name == schedule::kDirect) != is_direct) continue;
        const Built& built = built_[t][i];
        if (!built.program) {
          TESSERA_CHECK(built.why_not.has_value(), "`{}` by `{}` was not built", row.title, name);
          TESSERA_TRY_VOID(add_unbuilt(task, name, *built.why_not, row));
          continue;
        }
        names.push_back(name);
        programs.push_back(built.program);
      }
    }
    if (names.empty() || names.back() != schedule::kDirect) {
      row.problem = "there is nothing to compare with";
      return row;
    }
    Turns turns;
    turns.tolerance = task.tolerance;
    const auto times = time_in_turns(programs, turns, services_.timing, command);
    if (!times.back().failure.empty()) {
      row.problem = times.back().failure;
      return row;  // there was nothing to compare with
    }
    for (std::size_t k = 0; k < names.size(); ++k) {
      TESSERA_TRY_VOID(add(
          {key_of(task), names[k], times[k].time_us, times[k].spread_us, times[k].failure}, row));
    }
    return row;
  }

  // What the machine is to blame for is tried again the next time.
  Result<void> add_unbuilt(const AlgorithmTask& task, const std::string& name,
                           const Diagnostic& why, tune::TuneRow& row) const {
    if (tune::is_about_the_source(why, services_.toolchain)) {
      return add({key_of(task), name, 0, 0, fmt::format("{}: {}", tune::kNotCompiled, why.message)},
                 row);
    }
    row.problem = why.message;
    return {};
  }

  static void compare(const tune::Record& record, tune::TuneRow& row) {
    if (record.configuration == row.first) row.first_record = record;
    const bool is_timed = record.failure.empty();
    if (is_timed && (!row.best || record.time_us < row.best->time_us)) row.best = record;
  }

  // How a process ended says little of what it ran: that is tried again the next time, too.
  Result<void> add(const tune::Record& record, tune::TuneRow& row) const {
    ++(record.failure.empty() ? row.measured : row.failed);
    const bool will_stay = record.failure.empty() ||
                           record.failure.starts_with(tune::kWrongNumbers) ||
                           record.failure.starts_with(tune::kNotCompiled);
    if (!will_stay) {
      row.problem = record.failure;
      return {};
    }
    compare(record, row);
    return services_.records.replace(record);
  }

  std::vector<AlgorithmTask> tasks_;
  const Module& module_;
  const AlgorithmServices& services_;
  const std::chrono::steady_clock::time_point begin_;
  std::vector<std::vector<Built>> built_;  // by task and algorithm
  std::vector<EntryFile> files_;
};

}  // namespace

bool may_have_algorithms(const Function& f) { return !regions_to_ask(f).empty(); }

Result<MeasuredAlgorithms> recorded_algorithms(const tune::RecordStore& records,
                                               const std::string& device) {
  TESSERA_TRY(const tune::Records all, records.all());
  MeasuredAlgorithms::Fastest fastest;
  for (const tune::Record& r : all.list) {
    if (r.key.backend != kNativeAlgorithms || fastest.contains(r.key.workload)) continue;
    TESSERA_TRY(const byoc::Ranking ranking,
                records.ranking(kNativeAlgorithms, kVersionOfAlgorithms, device, {r.key.workload}));
    if (ranking.configurations.empty()) continue;
    fastest[r.key.workload] = ranking.configurations.front();
  }
  return MeasuredAlgorithms(std::move(fastest));
}

// Each kernel is scheduled by itself, to see which one asks for what.
Result<std::vector<AlgorithmTask>> algorithm_tasks(const Module& module, const MachineCode& code) {
  const Target target = target_for(compute_target(module.targets), code);
  std::vector<AlgorithmTask> tasks;
  std::map<std::string, std::size_t> by_workload;
  for (const auto& [name, f] : module.functions) {
    const std::set<relay::RegionId> regions = regions_to_ask(f);
    for (std::size_t i = 0; i < f.num_nodes() && !regions.empty(); ++i) {
      const NodeId literal = called_kernel(f, NodeId(i));
      if (!literal || !regions.contains(f.as<relay::Literal>(literal)->body)) continue;
      const Function kernel = relay::outline(f, literal);
      const Function entry = as_entry(f, NodeId(i), kernel);
      TESSERA_TRY(const std::vector<AlgorithmChoice> asked, asked_by(entry, module, target));
      for (const AlgorithmChoice& choice : asked) {
        const auto [at, is_new] = by_workload.try_emplace(choice.workload, tasks.size());
        if (is_new) {
          tasks.push_back({choice, entry, ops::graph_tolerance(kernel, kFloat32)});
        } else {
          ++tasks[at->second].uses;
        }
      }
    }
  }
  return tasks;
}

Result<std::vector<tune::TuneRow>> measure_algorithms(std::vector<AlgorithmTask> tasks,
                                                      const Module& module,
                                                      const AlgorithmServices& services) {
  return AlgorithmMeasuring(std::move(tasks), module, services).run();
}

}  // namespace tessera::driver
