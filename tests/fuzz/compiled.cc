// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/compiled.h"

#include <algorithm>

#include <fmt/format.h>

#include "backends/table.h"
#include "byoc/partition.h"
#include "driver/compile.h"
#include "driver/pipeline.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"
#include "support/files.h"
#include "tests/fuzz/groups.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {

using relay::NodeId;

void Model::add(const Graph& graph, Module module, const std::string& name) {
  const relay::Function& f = graph.function;
  std::vector<NodeId> params;
  for (const NodeId param : f.params()) {
    params.push_back(
        builder_.param(fmt::format("{}_{}", name, f.as<relay::Param>(param)->name), f.type(param)));
  }
  runs_.resize(std::max(runs_.size(), graph.runs.size()));
  for (std::size_t r = 0; r < runs_.size(); ++r) {
    const std::vector<Tensor>& inputs = graph.runs[std::min(r, graph.runs.size() - 1)].inputs;
    runs_[r].insert(runs_[r].end(), inputs.begin(), inputs.end());
  }
  results_.push_back(relay::inline_call(builder_, module.functions.at(name), params));
  module.functions.erase(name);
  module_.functions.merge(module.functions);
  module_.symbols.insert(graph.symbols.begin(), graph.symbols.end());
}

Result<Module> Model::finish() {
  module_.functions.emplace("main", builder_.finish(builder_.tuple(results_)));
  return ops::infer_types(std::move(module_));
}

namespace {

Target quick_cpu() { return Target().with("opt", std::int64_t{1}); }

std::vector<std::string> shuffled(std::vector<std::string> names, Random& random) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const auto next = names.begin() + random.below(static_cast<int>(names.size()));
    out.push_back(*next);
    names.erase(next);
  }
  return out;
}

}  // namespace

std::vector<Choice> choices(Shapes shapes, DeviceType device, std::uint64_t seed) {
  if (device == DeviceType::kCuda) return {{"native code on a GPU", {Target("cuda")}, true}};
  Random random(derived_seed(seed, "targets", 0));
  std::vector<Choice> all;
  if (shapes == Shapes::kOpen) {
    all.push_back({"no back end", {quick_cpu()}, false});
    for (const std::string& name : backend_names()) {
      all.push_back({name + " alone", {quick_cpu(), Target(name)}, false});
    }
  }
  Choice last{shapes == Shapes::kOpen ? "all back ends" : "some back ends", {quick_cpu()}, true};
  for (const std::string& name : shuffled(backend_names(), random)) {
    if (shapes == Shapes::kOpen || random.below(4) != 0) last.targets.emplace_back(name);
  }
  all.push_back(std::move(last));
  for (Choice& choice : all) choice.threads = 1 + static_cast<int>(random.below(2));
  return all;
}

bool takes_part(const Graph& graph, const std::vector<Target>& targets) {
  driver::CompileOptions options;
  options.targets = targets;
  std::vector<Diagnostic> warnings;
  auto module = driver::optimize_graph(module_of(graph), options, warnings);
  if (!module) return true;  // which is for the compilation to say
  std::vector<byoc::BackendChoice> backends;
  for (const Target& t : targets) {
    if (const auto* backend = backends::find_backend(t.kind().name))
      backends.push_back({backend, t});
  }
  const auto parts = byoc::partition_greedy(*std::move(module), backends);
  return !parts || !parts->regions.empty();
}

namespace {

// Each output in the memory of an input that it may share and that no other output has; an input
// without bytes has no memory.
std::vector<int> shared_inputs(const exec::Session& session, const std::vector<Tensor>& inputs) {
  std::vector<int> input_of_output;
  for (const exec::PortInfo& output : session.outputs()) {
    const auto free = std::find_if(output.shares.begin(), output.shares.end(), [&](int i) {
      const bool is_taken =
          std::find(input_of_output.begin(), input_of_output.end(), i) != input_of_output.end();
      return !is_taken && inputs[static_cast<std::size_t>(i)].size_bytes() > 0;
    });
    input_of_output.push_back(free == output.shares.end() ? exec::Session::kOwnMemory : *free);
  }
  return input_of_output;
}

Result<RunResults> run_all(exec::Session& session, const std::vector<std::vector<Tensor>>& runs) {
  RunResults results;
  for (const std::vector<Tensor>& inputs : runs) {
    TESSERA_TRY(std::vector<Tensor> of_run, session.run(inputs));
    results.push_back(std::move(of_run));
  }
  return results;
}

Result<RunResults> run_all_in_place(exec::Session& session,
                                    const std::vector<std::vector<Tensor>>& runs) {
  RunResults results;
  for (const std::vector<Tensor>& inputs : runs) {
    TESSERA_TRY(std::vector<Tensor> of_run,
                session.run_in_place(inputs, shared_inputs(session, inputs)));
    results.push_back(std::move(of_run));
  }
  return results;
}

}  // namespace

Result<Ran> compile_and_run(const Module& module, const Choice& choice,
                            const std::vector<std::vector<Tensor>>& runs) {
  auto folder = TempDir::make("tessera-fuzz");
  if (!folder) return fail(error(Code::kFileNotWritable, {}, "{}", folder.error().text()));
  driver::CompileOptions options;
  options.model = folder->file("batch.relay");
  options.output = folder->file("batch.so");
  options.targets = choice.targets;
  options.jobs = 1;
  options.threads = choice.threads;
  if (const auto written = write_atomically(options.model, print(module)); !written) {
    return fail(error(Code::kFileNotWritable, {}, "{}", written.error().text()));
  }
  TESSERA_TRY(const auto report, driver::compile(options));
  TESSERA_TRY(const auto session,
              exec::Session::open_library(options.output, {.threads = choice.threads}));
  Ran ran;
  TESSERA_TRY(ran.first, run_all(*session, runs));
  TESSERA_TRY(ran.again, run_all(*session, runs));
  TESSERA_TRY(ran.in_place, run_all_in_place(*session, runs));
  for (const driver::PlacementRow& row : report.placement) {
    ran.operators[row.backend] += row.operators.size();
  }
  return ran;
}

}  // namespace tessera::fuzz
