// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/compiler/tuning.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cudnn/compiler/describe.h"
#include "backends/cudnn/compiler/device_properties.h"
#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/compiler/search.h"
#include "byoc/compiler_functions.h"
#include "byoc/composite_match.h"

namespace tessera::backends::cudnn {
namespace {

using byoc::TuningTask;
using relay::Refusal;
using Answer = Expected<StoredPlan, Refusal>;

constexpr std::string_view kBackend = "cudnn";

byoc::Workload workload_of(const Region& region) { return {region.workload}; }

TuningTask task_of(const Region& region, const relay::Function& f, const Target& target) {
  TuningTask task{std::string(kBackend), record_version(), device_text(target), workload_of(region),
                  fmt::format("{} {}: {}", region.sizes, to_string(region.dtype),
                              fmt::join(byoc::operators_of(f), ", "))};
  task.seconds = static_cast<double>(target.get_int("profile_budget"));
  task.first_valid = target.get_bool("find_first_valid");
  task.search = [region, arch = architecture(target)](const byoc::Search& search,
                                                      byoc::SearchReport& report) {
    const tessera_device_api* device = contest::cuda_device();
    if (device == nullptr) throw std::runtime_error("this tessera was built without CUDA");
    search_plans(region, arch, *device, search, report);
  };
  return task;
}

// That of the records, if this cuDNN still makes a plan of it.
std::optional<StoredPlan> recorded(const Region& region, const Target& target,
                                   const byoc::Ranking& measured) {
  for (const std::string& text : measured.configurations) {
    if (auto plan = plan_of(region, target, text)) return *std::move(plan);
  }
  return std::nullopt;
}

}  // namespace

std::vector<TuningTask> tuning_tasks(const Module& module, const Target& target) {
  std::vector<TuningTask> tasks;
  std::map<byoc::Workload, std::size_t> known;  // number of the task
  for (const std::string& symbol : byoc::compiler_functions(module, kBackend)) {
    const relay::Function& f = module.functions.at(symbol);
    const auto match = byoc::composite_match(f, module.constants);
    if (!match) continue;  // compile() says why
    const auto region = describe(*match, target);
    if (!region) continue;
    const auto [at, is_new] = known.emplace(workload_of(*region), tasks.size());
    if (is_new) {
      tasks.push_back(task_of(*region, f, target));
    } else {
      ++tasks[at->second].uses;
    }
  }
  return tasks;
}

Result<Answer> choose(const Region& region, const Target& target,
                      const byoc::CompileContext& context) {
  byoc::Ranking measured;
  if (context.measurements != nullptr) {
    TESSERA_TRY(measured, context.measurements->ranking(kBackend, record_version(),
                                                        device_text(target), workload_of(region)));
    if (auto plan = recorded(region, target, measured)) return Answer(*std::move(plan));
  }
  Answer first = plan_of(region, target);
  for (const byoc::Failure& failure : measured.failures) {
    if (!first ||
        (failure.configuration != first->configuration && !measured.configurations.empty())) {
      continue;
    }
    return Answer(Unexpected<Refusal>{{fmt::format("the records say that `{}` cannot be used: {}",
                                                   failure.configuration, failure.reason)}});
  }
  return first;
}

}  // namespace tessera::backends::cudnn
