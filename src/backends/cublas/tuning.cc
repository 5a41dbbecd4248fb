// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/tuning.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cublas/library.h"
#include "backends/cublas/region.h"
#include "backends/cublas/search.h"
#include "byoc/compiler_functions.h"
#include "types/gpu_arch.h"

namespace tessera::backends::cublas {
namespace {

using byoc::TuningTask;
using relay::Refusal;

constexpr std::string_view kBackend = "cublas";

// What the description of a device that is measured for begins with; with -model all of it.
std::string device_text(const Target& target) {
  const std::int64_t given = target.get_int("multiprocessors");
  const auto model = target.values().find("model");
  return fmt::format("{} {} {}", architecture(target),
                     given > 0 ? given : usual_multiprocessors(architecture(target)),
                     model == target.values().end() ? "" : std::get<std::string>(model->second));
}

// Every call of the composite's operators, the product first.
std::string title_of(const Description& d, const relay::Function& f,
                     const byoc::Workload& workload) {
  std::string title = fmt::format(
      "{}{} x {} x {} {}: {}", d.batch == Dim(1) ? "" : to_string(d.batch) + " of ", to_string(d.m),
      to_string(d.n), to_string(d.k), factors_text(d.spec), fmt::join(byoc::operators_of(f), ", "));
  if (!workload.sizes.empty()) {
    title += fmt::format(", measured at {}", fmt::join(workload.sizes, " x "));
  }
  return title;
}

// With numbers for all sizes, in the order of the workload's.
Spec with_sizes(const Description& d, const std::vector<std::int64_t>& sizes) {
  Spec spec = sized(d);
  spec.workspace_bytes = kWorkspaceBytes;
  auto next = sizes.begin();
  for (std::int64_t* size : {&spec.m, &spec.n, &spec.batch}) {
    if (*size < 0) *size = *next++;
  }
  return spec;
}

TuningTask task_of(const Description& d, const relay::Function& f, byoc::Workload workload,
                   const Target& target) {
  TuningTask task{std::string(kBackend), record_version(), device_text(target), workload,
                  title_of(d, f, workload)};
  task.seconds = static_cast<double>(target.get_int("profile_budget"));
  const SearchedProduct product{with_sizes(d, workload.sizes), architecture(target)};
  task.search = [product](const byoc::Search& search, byoc::SearchReport& report) {
    const tessera_device_api* device = contest::cuda_device();
    if (device == nullptr) throw std::runtime_error("this tessera was built without CUDA");
    search_algorithms(product, *device, search, report);
  };
  return task;
}

}  // namespace

std::vector<TuningTask> tuning_tasks(const Module& module, const Target& target,
                                     const std::map<std::string, Dim>& sizes) {
  std::vector<TuningTask> tasks;
  std::map<byoc::Workload, std::size_t> known;  // number of the task
  for (const std::string& symbol : byoc::compiler_functions(module, kBackend)) {
    const relay::Function& f = module.functions.at(symbol);
    const auto product = describe_region(f, module.constants, target);
    auto workload = product ? workload_of(*product, sizes) : std::nullopt;
    if (!workload) continue;  // compile() says why
    const auto [at, is_new] = known.emplace(*workload, tasks.size());
    if (is_new) {
      tasks.push_back(task_of(*product, f, *std::move(workload), target));
    } else {
      ++tasks[at->second].uses;
    }
  }
  return tasks;
}

Result<Expected<Spec, Refusal>> choose(const Description& product, const Target& target,
                                       const byoc::CompileContext& context,
                                       const std::map<std::string, Dim>& sizes) {
  using Answer = Expected<Spec, Refusal>;
  Spec spec = sized(product);
  spec.workspace_bytes = kWorkspaceBytes;
  const auto workload = workload_of(product, sizes);
  if (context.measurements == nullptr || !workload) return Answer(spec);
  TESSERA_TRY(
      const byoc::Ranking measured,
      context.measurements->ranking(kBackend, record_version(), device_text(target), *workload));
  for (const std::string& text : measured.configurations) {
    const auto configuration = parse_configuration(text);
    if (!configuration) continue;
    std::copy(std::begin(configuration->opaque), std::end(configuration->opaque), spec.algorithm);
    spec.version = static_cast<std::int64_t>(found_library().version);
    const Spec at = with_sizes(product, measured.sizes);
    if (spec.m < 0) spec.best_m = at.m;
    if (spec.n < 0) spec.best_n = at.n;
    if (spec.batch < 0) spec.best_batch = at.batch;
    // At other sizes, the heuristic is asked.
    if (workload->sizes.empty()) spec.workspace_bytes = configuration->workspace_bytes;
    return Answer(spec);
  }
  if (measured.failures.empty()) return Answer(spec);
  const auto& [configuration, reason, is_of_kernel] = measured.failures.front();
  return Answer(Unexpected{Refusal{fmt::format(
      "the records say that no algorithm can be used; `{}`: {}", configuration, reason)}});
}

}  // namespace tessera::backends::cublas
