// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/batch.h"

#include <algorithm>

#include <fmt/format.h>

#include "driver/compile.h"
#include "module/text.h"
#include "ops/compare.h"
#include "ops/evaluate_function.h"
#include "ops/infer_types.h"
#include "relay/rewrite.h"
#include "support/files.h"
#include "tests/fuzz/device_kernels.h"
#include "tests/fuzz/random.h"
#include "tests/onnx_gate/workers.h"

namespace tessera::fuzz {
namespace {

using relay::NodeId;

// What the compiler says of itself or of us, as text.
template <class F>
auto text_of_exceptions(F&& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::exception& problem) {
    return fail(error(Code::kMalformedGraph, {}, "it throws: {}", problem.what()));
  }
}

std::optional<std::string> difference(const std::vector<Tensor>& found,
                                      const std::vector<Tensor>& wanted) {
  if (found.size() != wanted.size()) {
    return fmt::format("{} results instead of {}", found.size(), wanted.size());
  }
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double tolerance = ops::graph_tolerance(wanted[i].dtype);
    const std::string differs = ops::first_difference(found[i], wanted[i], tolerance);
    if (!differs.empty()) return fmt::format("result {}: {}", i, differs);
  }
  return std::nullopt;
}

// One model of many graphs: parameters and results in a row.
class Model {
 public:
  void add(const relay::Function& f, Module module, const std::string& name,
           const std::vector<Tensor>& inputs) {
    std::vector<NodeId> params;
    for (const NodeId param : f.params()) {
      params.push_back(builder_.param(fmt::format("{}_{}", name, f.as<relay::Param>(param)->name),
                                      f.type(param)));
    }
    inputs_.insert(inputs_.end(), inputs.begin(), inputs.end());
    results_.push_back(relay::inline_call(builder_, module.functions.at(name), params));
    module.functions.erase(name);
    module_.functions.merge(module.functions);
  }

  Result<Module> finish() {
    module_.functions.emplace("main", builder_.finish(builder_.tuple(results_)));
    return ops::infer_types(std::move(module_));
  }
  const std::vector<Tensor>& inputs() const { return inputs_; }

 private:
  Module module_;
  relay::FunctionBuilder builder_;
  std::vector<NodeId> results_;
  std::vector<Tensor> inputs_;
};

std::vector<Target> target_list(std::uint64_t seed) {
  Random random(derived_seed(seed, "targets", 0));
  std::vector<Target> targets = {Target().with("opt", std::int64_t{1})};
  std::vector<std::string> names = backend_names();
  while (!names.empty()) {
    const auto next = names.begin() + random.below(static_cast<int>(names.size()));
    if (random.below(4) != 0) targets.emplace_back(*next);
    names.erase(next);
  }
  return targets;
}

struct Ran {
  std::vector<Tensor> results;
  std::map<std::string, std::uint64_t> operators;
};

Result<Ran> compile_and_run(const Module& module, const std::vector<Tensor>& inputs,
                            std::uint64_t list_seed) {
  auto folder = TempDir::make("tessera-fuzz");
  if (!folder) return fail(error(Code::kFileNotWritable, {}, "{}", folder.error().text()));
  driver::CompileOptions options;
  options.model = folder->file("batch.relay");
  options.output = folder->file("batch.so");
  options.targets = target_list(list_seed);
  options.jobs = 1;
  options.threads = 1;
  if (const auto written = write_atomically(options.model, print(module)); !written) {
    return fail(error(Code::kFileNotWritable, {}, "{}", written.error().text()));
  }
  TESSERA_TRY(const auto report, driver::compile(options));
  TESSERA_TRY(const auto session, exec::Session::open_library(options.output, {.threads = 1}));
  Ran ran;
  TESSERA_TRY(ran.results, session->run(inputs));
  for (const driver::PlacementRow& row : report.placement) {
    ran.operators[row.backend] += row.operators.size();
  }
  return ran;
}

// The partition alone must not change what the reference computes.
Result<Module> checked_partition(const Case& c, const std::string& name) {
  TESSERA_TRY(Module module, partitioned(c.graph.function, name, c.seed));
  const auto wanted = ops::evaluate(c.graph.function, {}, c.graph.inputs);
  const auto found = ops::evaluate(module, module.functions.at(name), c.graph.inputs);
  if (const auto differs = difference(found, wanted)) {
    return fail(error(Code::kMalformedGraph, {}, "partitioned, without any code: {}", *differs));
  }
  return module;
}

}  // namespace

Case random_case(std::uint64_t seed) { return {seed, random_graph(seed)}; }

BatchOutcome run_batch(const std::vector<Case>& cases, std::uint64_t list_seed) {
  BatchOutcome out;
  out.failures.resize(cases.size());
  std::vector<std::size_t> in_model;
  Model model;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const std::string name = fmt::format("g{}", i);
    auto part = text_of_exceptions([&]() -> Result<Module> {
      TESSERA_TRY_VOID(device_kernels(cases[i].graph.function));
      TESSERA_TRY_VOID(device_kernels(large_graph(cases[i].seed)));
      return checked_partition(cases[i], name);
    });
    if (part) {
      model.add(cases[i].graph.function, *std::move(part), name, cases[i].graph.inputs);
      in_model.push_back(i);
    } else {
      out.failures[i] = render(part.error());
    }
  }
  if (in_model.empty()) return out;
  const auto ran = text_of_exceptions([&]() -> Result<Ran> {
    TESSERA_TRY(const Module module, model.finish());
    return compile_and_run(module, model.inputs(), list_seed);
  });
  if (!ran) {
    for (const std::size_t i : in_model) out.failures[i] = render(ran.error());
    return out;
  }
  out.operators = ran->operators;
  auto next = ran->results.begin();
  for (const std::size_t i : in_model) {
    const Graph& graph = cases[i].graph;
    const auto wanted = ops::evaluate(graph.function, {}, graph.inputs);
    const auto left = static_cast<std::size_t>(ran->results.end() - next);
    const auto end = next + static_cast<std::ptrdiff_t>(std::min(wanted.size(), left));
    out.failures[i] = difference({next, end}, wanted);
    next = end;
  }
  return out;
}

namespace {

// Texts that end in a zero each: failures, then back ends and numbers in turns.
std::string written(const BatchOutcome& outcome) {
  std::string text;
  for (const auto& failure : outcome.failures) text += failure.value_or("") + '\0';
  for (const auto& [name, count] : outcome.operators)
    text += name + '\0' + std::to_string(count) + '\0';
  return text;
}

BatchOutcome read(const std::string& text, std::size_t cases) {
  BatchOutcome outcome;
  std::size_t at = 0;
  const auto next = [&] {
    const std::size_t begin = at, end = text.find('\0', at);
    at = end + 1;
    return text.substr(begin, end - begin);
  };
  for (std::size_t i = 0; i < cases; ++i) {
    const std::string failure = next();
    outcome.failures.push_back(failure.empty() ? std::nullopt : std::optional(failure));
  }
  while (at < text.size()) {
    const std::string name = next();
    outcome.operators[name] = std::stoull(next());
  }
  return outcome;
}

// A crash is said of every case.
BatchOutcome run_guarded(const std::vector<Case>& cases, std::uint64_t list_seed) {
  constexpr unsigned kMostSeconds = 600;
  BatchOutcome outcome;
  onnx_gate::run_in_workers(
      1, 1, kMostSeconds, [&](std::size_t) { return written(run_batch(cases, list_seed)); },
      [&](std::size_t, const std::string& text) {
        if (text.starts_with("crash:")) {
          outcome.failures.assign(cases.size(), text);
        } else {
          outcome = read(text, cases.size());
        }
      });
  return outcome;
}

}  // namespace

BatchOutcome run_apart(const std::vector<Case>& cases, std::uint64_t list_seed) {
  BatchOutcome outcome = run_guarded(cases, list_seed);
  const bool all_fail = std::all_of(outcome.failures.begin(), outcome.failures.end(),
                                    [](const auto& failure) { return failure.has_value(); });
  if (cases.size() < 2 || !all_fail) return outcome;
  const auto middle = cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2);
  BatchOutcome first = run_apart({cases.begin(), middle}, list_seed);
  const BatchOutcome second = run_apart({middle, cases.end()}, list_seed);
  first.failures.insert(first.failures.end(), second.failures.begin(), second.failures.end());
  for (const auto& [name, count] : second.operators) first.operators[name] += count;
  return first;
}

}  // namespace tessera::fuzz
