// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/tuning.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cutlass/jobs.h"
#include "backends/cutlass/measure_source.h"
#include "byoc/compiler_functions.h"

namespace tessera::backends::cutlass {
namespace {

using byoc::TuningTask;

constexpr const char* kName = "cutlass";
// Of the meaning of configurations and workloads, in records.
constexpr const char* kConfigurationsVersion = "1";

// What the description of a device that is measured for begins with.
std::string device_text(const Target& target) {
  return fmt::format("{} {} ", architecture(target), Device{}.multiprocessors);
}

// Every call of the composite's operators, the product first.
std::string title_of(const Gemm& g, const relay::Function& f) {
  const auto operators = byoc::operators_of(f);
  if (g.convolution) {
    return fmt::format("{}, {} channels {}: {}", g.convolution->text(), g.n.constant(),
                       to_string(g.a_dtype), fmt::join(operators, ", "));
  }
  return fmt::format("{}{} x {} x {} {}: {}", g.batch == Dim(1) ? "" : to_string(g.batch) + " of ",
                     to_string(g.m), to_string(g.n), to_string(g.k), to_string(g.a_dtype),
                     fmt::join(operators, ", "));
}

std::optional<Gemm> with_sizes(Gemm g, const std::map<std::string, Dim>& sizes) {
  g.m = g.m.substitute(sizes);
  g.batch = g.batch.substitute(sizes);
  if (g.convolution) g.convolution->batch = g.convolution->batch.substitute(sizes);
  if (!g.m.is_constant() || !g.batch.is_constant()) return std::nullopt;
  return g;
}

// `sized` is the product with numbers for all sizes; kernels are those of any size.
TuningTask task_of(const Gemm& gemm, const Gemm& sized, const relay::Function& f,
                   const Target& target) {
  TuningTask task{kName, kConfigurationsVersion, device_text(target), gemm.workload(),
                  title_of(gemm, f)};
  std::vector<Configuration> all;
  for (const Configuration& c : candidates(gemm, target, Device{})) {
    const auto kernel = std::make_shared<const byoc::CompileJob>(kernel_job(gemm, c, target));
    for (const Configuration& launch : launches(sized, c, Device{})) {
      task.candidates.push_back({launch.text(), kernel});
      all.push_back(launch);
    }
  }
  task.program = measure_job(gemm, target);
  task.table = [sized, all](std::span<const std::size_t> numbers) {
    std::vector<Configuration> linked;
    for (const std::size_t number : numbers) linked.push_back(all[number]);
    return table_job(measure_table(sized, linked));
  };
  task.cuda_libraries = {"libcudart_static.a"};
  task.seconds = static_cast<double>(target.get_int("profile_budget"));
  task.first_valid = target.get_bool("find_first_valid");
  return task;
}

}  // namespace

std::vector<TuningTask> tuning_tasks(const Module& module, const Target& target,
                                     const std::map<std::string, Dim>& sizes) {
  std::vector<TuningTask> tasks;
  std::map<std::string, std::size_t> known;  // number of the task, by workload
  for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
    const relay::Function& f = module.functions.at(symbol);
    const auto gemm = describe_gemm(f, module.constants, target);
    if (!gemm) continue;  // attention, and what compile() will decline
    const auto sized = with_sizes(*gemm, sizes);
    if (!sized) continue;
    const auto [at, is_new] = known.emplace(gemm->workload(), tasks.size());
    if (is_new) {
      TuningTask task = task_of(*gemm, *sized, f, target);
      if (task.candidates.empty()) {  // compile() will say why
        known.erase(at);
        continue;
      }
      tasks.push_back(std::move(task));
    } else {
      ++tasks[at->second].uses;
    }
  }
  return tasks;
}

Result<Configuration> choose(const Gemm& gemm, const std::vector<Configuration>& choices,
                             const Target& target, const byoc::CompileContext& context) {
  if (context.measurements == nullptr) return choices.front();
  TESSERA_TRY(const std::string text,
              context.measurements->fastest(kName, kConfigurationsVersion, device_text(target),
                                            gemm.workload()));
  const auto measured = parse_configuration(text);
  const bool fits =
      measured && std::any_of(choices.begin(), choices.end(), [&](const Configuration& c) {
        return c.kernel_name() == measured->kernel_name();
      });
  return fits ? *measured : choices.front();
}

}  // namespace tessera::backends::cutlass
