// SPDX-License-Identifier: Apache-2.0
#include "driver/native_algorithms.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "driver/device_of_costs.h"
#include "driver/entries.h"
#include "driver/entry_file.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::driver {
namespace {

using relay::Function;
using relay::NodeId;
using schedule::AlgorithmChoice;
using schedule::MeasuredAlgorithms;

// Another one where an algorithm becomes faster or slower: then all are measured again.
constexpr const char* kVersion = "1";
// With less, nothing is begun: so long compilers take.
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
    TESSERA_TRY_VOID(build());
    TESSERA_TRY(const std::string command, services_.toolchain.support_files().command());
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      TESSERA_TRY(tune::TuneRow row, measured(t, command));
      rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  tune::RecordKey key_of(const AlgorithmTask& task) const {
    return {std::string(kNativeAlgorithms), kVersion, services_.device,
            services_.toolchain.identity(), task.choice.workload};
  }
  static tune::TuneRow row_of(const AlgorithmTask& task) {
    tune::TuneRow row;
    row.title = task.choice.workload;
    row.uses = task.uses;
    row.first = task.choice.algorithms.front();
    return row;
  }

  std::vector<tune::TuneRow> out_of_time(std::vector<tune::TuneRow> rows) const {
    for (const AlgorithmTask& task : tasks_) {
      rows.push_back(row_of(task));
      rows.back().problem = tune::kBudgetSpent;
    }
    return rows;
  }

  // The rows of tasks that have records; the others are left.
  Result<std::vector<tune::TuneRow>> take_known() {
    std::vector<tune::TuneRow> rows;
    std::vector<AlgorithmTask> unknown;
    for (AlgorithmTask& task : tasks_) {
      TESSERA_TRY(const tune::Records known, services_.records.find(key_of(task)));
      if (known.list.empty()) {
        unknown.push_back(std::move(task));
        continue;
      }
      tune::TuneRow& row = rows.emplace_back(row_of(task));
      row.known = known.list.size();
      for (const tune::Record& record : known.list) compare(record, row);
    }
    tasks_ = std::move(unknown);
    return rows;
  }

  // A library for the first algorithm of each task, one for the second, and so on.
  Result<void> build() {
    programs_.resize(tasks_.size());
    std::size_t most = 0;
    for (const AlgorithmTask& t : tasks_) most = std::max(most, t.choice.algorithms.size());
    for (std::size_t i = 0; i < most; ++i) {
      std::map<std::string, Function> entries;
      MeasuredAlgorithms::Fastest given;
      for (std::size_t t = 0; t < tasks_.size(); ++t) {
        const AlgorithmChoice& choice = tasks_[t].choice;
        if (i >= choice.algorithms.size()) continue;
        entries[entry_name(t)] = tasks_[t].kernel;
        given[choice.workload] = choice.algorithms[i];
      }
      MeasuredAlgorithms algorithms(std::move(given));
      TESSERA_TRY(Module module, module_of(module_, std::move(entries)));
      TESSERA_TRY(EntryFile file,
                  EntryFile::build(std::move(module), services_.target, services_.code,
                                   services_.toolchain, &algorithms));
      for (std::size_t t = 0; t < tasks_.size(); ++t) {
        const auto program = file.programs().find(entry_name(t));
        if (program != file.programs().end()) programs_[t].push_back(program->second);
      }
      files_.push_back(std::move(file));
    }
    return {};
  }

  Result<tune::TuneRow> measured(std::size_t t, const std::string& command) const {
    const AlgorithmTask& task = tasks_[t];
    const std::vector<std::string>& algorithms = task.choice.algorithms;
    tune::TuneRow row = row_of(task);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin_;
    if (spent.count() > services_.seconds) {
      row.problem = tune::kBudgetSpent;
      return row;
    }
    // What the others are compared with is the last one.
    std::vector<std::size_t> order(algorithms.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_partition(
        order, [&](std::size_t i) { return algorithms[i] != schedule::kDirect; });
    std::vector<LibraryProgram> programs;
    for (const std::size_t i : order) programs.push_back(programs_[t][i]);
    Turns turns;
    turns.tolerance = task.tolerance;
    const auto times = time_in_turns(programs, turns, services_.timing, command);
    for (std::size_t k = 0; k < order.size(); ++k) {
      TESSERA_TRY_VOID(add({key_of(task), algorithms[order[k]], times[k].time_us,
                            times[k].spread_us, times[k].failure},
                           row));
    }
    return row;
  }

  static void compare(const tune::Record& record, tune::TuneRow& row) {
    if (record.configuration == row.first) row.first_record = record;
    const bool is_timed = record.failure.empty();
    if (is_timed && (!row.best || record.time_us < row.best->time_us)) row.best = record;
  }

  Result<void> add(const tune::Record& record, tune::TuneRow& row) const {
    ++(record.failure.empty() ? row.measured : row.failed);
    compare(record, row);
    return services_.records.replace(record);
  }

  std::vector<AlgorithmTask> tasks_;
  const Module& module_;
  const AlgorithmServices& services_;
  const std::chrono::steady_clock::time_point begin_;
  std::vector<std::vector<LibraryProgram>> programs_;  // by task and algorithm
  std::vector<EntryFile> files_;
};

}  // namespace

Result<MeasuredAlgorithms> recorded_algorithms(const tune::RecordStore& records,
                                               const std::string& device) {
  TESSERA_TRY(const tune::Records all, records.all());
  MeasuredAlgorithms::Fastest fastest;
  for (const tune::Record& r : all.list) {
    if (r.key.backend != kNativeAlgorithms || fastest.contains(r.key.workload)) continue;
    TESSERA_TRY(const byoc::Ranking ranking,
                records.ranking(kNativeAlgorithms, kVersion, device, {r.key.workload}));
    if (ranking.configurations.empty()) continue;
    fastest[r.key.workload] = ranking.configurations.front();
  }
  return MeasuredAlgorithms(std::move(fastest));
}

// Each kernel is scheduled by itself, to see which one asks for what.
Result<std::vector<AlgorithmTask>> algorithm_tasks(const Module& module, const Target& target) {
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
