// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/measuring/tuning.h"

#include <algorithm>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cutlass/gemm/splits.h"
#include "backends/cutlass/gemm/time_model.h"
#include "backends/cutlass/jobs.h"
#include "backends/cutlass/measuring/kernel_version.h"
#include "backends/cutlass/measuring/measure_source.h"
#include "byoc/compiler_functions.h"

namespace tessera::backends::cutlass {
namespace {

using byoc::TuningTask;
using relay::Refusal;

constexpr const char* kName = "cutlass";

// What the description of a device that is measured for begins with; with -model all of it.
std::string device_text(const Target& target) {
  const auto model = target.values().find("model");
  return fmt::format("{} {} {}", architecture(target), device_of(target).multiprocessors,
                     model == target.values().end() ? "" : std::get<std::string>(model->second));
}

// Where sizes are open, none of a workspace is known.
bool suits(const Gemm& gemm, const Configuration& c) {
  return c.schedule != Schedule::kMultistage || c.splits == 1 || can_split(gemm, c);
}

// Every call of the composite's operators, the product first.
std::string title_of(const Gemm& g, const relay::Function& f) {
  const auto operators = byoc::operators_of(f);
  if (g.convolution) {
    return fmt::format("{}, {} channels {}: {}", g.convolution->text(),
                       g.convolution->made_channels(), to_string(g.a_dtype),
                       fmt::join(operators, ", "));
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

// `sized` is the same with numbers for all sizes.
byoc::Workload workload_of(Gemm gemm, const Gemm& sized) {
  byoc::Workload workload;
  const auto open = [&](Dim& size, const Dim& number) {
    if (size.is_constant()) return;
    workload.sizes.push_back(number.constant());
    size = Dim::unknown();
  };
  // In the order of the text.
  if (gemm.convolution) {
    open(gemm.convolution->batch, sized.convolution->batch);
  } else {
    open(gemm.m, sized.m);
    open(gemm.batch, sized.batch);
  }
  workload.form = gemm.workload();
  return workload;
}
byoc::Workload workload_of(const Attention& attention) { return {attention.workload()}; }

std::string title_of(const Attention& a) {
  return fmt::format("{} x {} heads of {}, {} queries, {} keys {}: {}attention{}", a.batch, a.heads,
                     a.width, a.queries, a.keys, to_string(a.dtype), a.is_causal ? "causal " : "",
                     a.mask ? " with a mask" : "");
}

// All but the candidates and what knows them.
TuningTask task_of(byoc::Workload workload, std::string title, CompileJob program,
                   const Target& target) {
  if (!workload.sizes.empty()) {
    title += fmt::format(", measured at {}", fmt::join(workload.sizes, " x "));
  }
  TuningTask task{kName, kernel_version(target), device_text(target), std::move(workload),
                  std::move(title)};
  task.program = std::move(program);
  task.cuda_libraries = {"libcudart_static.a"};
  task.seconds = static_cast<double>(target.get_int("profile_budget"));
  task.first_valid = target.get_bool("find_first_valid");
  return task;
}

// By numbers of candidates, which stand for `all`. Sizes of the work are numbers.
template <class Work, class Configurations>
std::function<CompileJob(std::span<const std::size_t>)> table_of(Work work, Configurations all) {
  return [work = std::move(work), all = std::move(all)](std::span<const std::size_t> numbers) {
    Configurations linked;
    for (const std::size_t number : numbers) linked.push_back(all[number]);
    return table_job(measure_table(work, linked));
  };
}

// The model tells tiles apart better than their stages and the depth of their steps: each that has
// a tile in common with some before it stands as if it took longer, so that the first ones differ.
std::vector<Configuration> varied(const Gemm& gemm, std::vector<Configuration> all,
                                  const Device& device) {
  constexpr double kForEach = 0.1;
  std::map<std::pair<int, int>, int> before;
  std::vector<std::pair<double, Configuration>> weighed;
  for (const Configuration& c : all) {
    const bool may_vary = c.schedule == Schedule::kMultistage;
    const int known = may_vary ? before[{c.tile_m, c.tile_n}]++ : 0;
    weighed.emplace_back(estimated_microseconds(gemm, c, device) * (1 + kForEach * known), c);
  }
  std::stable_sort(weighed.begin(), weighed.end(),
                   [](const auto& x, const auto& y) { return x.first < y.first; });
  std::transform(weighed.begin(), weighed.end(), all.begin(),
                 [](const auto& one) { return one.second; });
  return all;
}

// The ways of the sized product in which kernels of any size can be launched.
std::vector<Configuration> launches(const Gemm& gemm, const Gemm& sized, const Configuration& c,
                                    const Target& target) {
  auto all = launches(sized, c, target);
  std::erase_if(all, [&](const Configuration& launch) { return !suits(gemm, launch); });
  return all;
}

// `sized` is the product with numbers for all sizes; kernels are those of any size.
TuningTask task_of(const Gemm& gemm, const Gemm& sized, const relay::Function& f,
                   const Target& target) {
  TuningTask task =
      task_of(workload_of(gemm, sized), title_of(gemm, f), measure_job(gemm, target), target);
  std::vector<Configuration> all;
  const Device device = device_of(target);
  for (const Configuration& c : varied(gemm, candidates(gemm, target, device), device)) {
    const auto kernel = std::make_shared<const CompileJob>(kernel_job(gemm, c, target));
    for (const Configuration& launch : launches(gemm, sized, c, target)) {
      task.candidates.push_back({launch.text(), kernel});
      all.push_back(launch);
    }
  }
  task.table = table_of(sized, std::move(all));
  return task;
}

TuningTask task_of(const Attention& attention, const Target& target) {
  TuningTask task =
      task_of(workload_of(attention), title_of(attention), measure_job(attention, target), target);
  std::vector<AttentionConfiguration> all;
  for (const AttentionConfiguration& c : candidates(attention, target, device_of(target))) {
    const auto kernel = std::make_shared<const CompileJob>(kernel_job(attention, c, target));
    for (const AttentionConfiguration& launch : launches(c)) {
      task.candidates.push_back({launch.text(), kernel});
      all.push_back(launch);
    }
  }
  task.table = table_of(attention, std::move(all));
  return task;
}

// Distinct work. To make a task is to write all its kernels: what is known is counted, not made.
class Tasks {
 public:
  template <class Make>
  void add(const byoc::Workload& workload, const Make& make) {
    const auto [at, is_new] = known_.emplace(workload, list_.size());
    if (!is_new) {
      ++list_[at->second].uses;
      return;
    }
    list_.push_back(make());
    if (list_.back().candidates.empty()) {  // compile() will say why
      list_.pop_back();
      known_.erase(at);
    }
  }
  std::vector<TuningTask> take() { return std::move(list_); }

 private:
  std::vector<TuningTask> list_;
  std::map<byoc::Workload, std::size_t> known_;  // number of the task
};

// Not what compile() will decline, nor what has sizes that are not known. Of floats of eight bits
// and weights of a few bits the expected fastest kernel is taken.
void add_task(Tasks& tasks, const relay::Function& f, const ConstantPool& constants,
              const Target& target, const std::map<std::string, Dim>& sizes) {
  if (is_attention(f)) {
    const auto attention = describe_attention(f, constants, target);
    if (attention) tasks.add(workload_of(*attention), [&] { return task_of(*attention, target); });
    return;
  }
  const auto gemm = describe_gemm(f, constants, target);
  const auto sized = gemm ? with_sizes(*gemm, sizes) : std::nullopt;
  if (!sized || gemm->is_float8() || gemm->mixed) return;
  tasks.add(workload_of(*gemm, *sized), [&] { return task_of(*gemm, *sized, f, target); });
}

// What the records say cannot be used.
class Failures {
 public:
  explicit Failures(std::vector<byoc::Failure> list) : list_(std::move(list)) {
    for (const byoc::Failure& failure : list_) {
      if (failure.is_of_kernel) kernels_.insert(byoc::kernel_of(failure.configuration));
      configurations_.insert(failure.configuration);
    }
  }

  template <class Choice>
  bool has(const Choice& c) const {
    return configurations_.contains(c.text()) || kernels_.contains(c.kernel_name());
  }
  Refusal refusal() const {
    const auto& [configuration, reason, is_of_kernel] = list_.front();
    return {fmt::format("the records say that no configuration can be used; `{}`: {}",
                        configuration, reason)};
  }

 private:
  std::vector<byoc::Failure> list_;
  std::set<std::string> configurations_, kernels_;
};

// Can the candidate's kernel have been measured as the target wants it to be launched?
// What the target leaves open was measured with other options perhaps, and bands with other sizes.
bool is_launch_of(const Configuration& candidate, const std::vector<Configuration>& launches,
                  const Configuration& measured, const Target& target) {
  const bool has_bands = leaves_bands_open(candidate) || (candidate.raster == measured.raster &&
                                                          candidate.swizzle == measured.swizzle);
  return has_bands && std::any_of(launches.begin(), launches.end(), [&](const auto& launch) {
           return launch.is_dependent == measured.is_dependent &&
                  (leaves_splits_open(target) || launch.splits == measured.splits);
         });
}
// No option is about launches of attention.
bool is_launch_of(const AttentionConfiguration&, const std::vector<AttentionConfiguration>&,
                  const AttentionConfiguration&, const Target&) {
  return true;
}

// In the order of the candidates, those first that are launched as the model has it.
template <class Choice, class Launches>
std::vector<Choice> usable_of(const std::vector<Choice>& candidates, const Launches& launches,
                              const Failures& failures) {
  std::vector<Choice> usable, others;
  for (const Choice& c : candidates) {
    const auto all = launches(c);
    const auto way = std::find_if(all.begin(), all.end(),
                                  [&](const Choice& launch) { return !failures.has(launch); });
    if (way != all.end()) (way == all.begin() ? usable : others).push_back(*way);
  }
  usable.insert(usable.end(), others.begin(), others.end());
  return usable;
}

template <class Choice, class Launches>
Result<Expected<Selection<Choice>, Refusal>> choose(
    const byoc::Workload& workload, const std::vector<Choice>& candidates, const Launches& launches,
    const std::function<std::optional<Choice>(std::string_view)>& parse, const Target& target,
    const byoc::CompileContext& context) {
  using Answer = Expected<Selection<Choice>, Refusal>;
  TESSERA_TRY(byoc::Ranking measured, context.measurements->ranking(kName, kernel_version(target),
                                                                    device_text(target), workload));
  const Failures failures(std::move(measured.failures));
  auto usable = usable_of(candidates, launches, failures);
  for (const std::string& text : measured.configurations) {
    const auto configuration = parse(text);
    const bool fits =
        configuration && std::any_of(candidates.begin(), candidates.end(), [&](const Choice& c) {
          return c.kernel_name() == configuration->kernel_name() &&
                 is_launch_of(c, launches(c), *configuration, target);
        });
    if (fits) return Answer(Selection<Choice>{*configuration, std::move(usable), true});
  }
  if (usable.empty()) return Answer(Unexpected{failures.refusal()});
  const Choice first = usable.front();
  return Answer(Selection<Choice>{first, std::move(usable)});
}

}  // namespace

std::vector<TuningTask> tuning_tasks(const Module& module, const Target& target,
                                     const std::map<std::string, Dim>& sizes) {
  Tasks tasks;
  for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
    add_task(tasks, module.functions.at(symbol), module.constants, target, sizes);
  }
  return tasks.take();
}

Result<Expected<Selection<Configuration>, Refusal>> choose(
    const Gemm& gemm, const std::vector<Configuration>& candidates, const Target& target,
    const byoc::CompileContext& context, const std::map<std::string, Dim>& sizes) {
  const auto sized = with_sizes(gemm, sizes);
  if (context.measurements == nullptr || !sized) {
    return Expected<Selection<Configuration>, Refusal>({candidates.front(), candidates});
  }
  const auto ways = [&](const Configuration& c) { return launches(gemm, *sized, c, target); };
  const auto parse = [&](std::string_view text) {
    const auto c = parse_configuration(text);
    return c && suits(gemm, *c) ? c : std::nullopt;
  };
  return choose<Configuration>(workload_of(gemm, *sized), candidates, ways, parse, target, context);
}

Result<Expected<Selection<AttentionConfiguration>, Refusal>> choose(
    const Attention& attention, const std::vector<AttentionConfiguration>& candidates,
    const Target& target, const byoc::CompileContext& context) {
  if (context.measurements == nullptr) {
    return Expected<Selection<AttentionConfiguration>, Refusal>({candidates.front(), candidates});
  }
  const auto ways = [](const AttentionConfiguration& c) { return launches(c); };
  return choose<AttentionConfiguration>(workload_of(attention), candidates, ways,
                                        &parse_attention_configuration, target, context);
}

}  // namespace tessera::backends::cutlass
