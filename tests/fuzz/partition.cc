// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/partition.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/table.h"
#include "byoc/annotations.h"
#include "byoc/partition.h"
#include "driver/catalogue.h"
#include "driver/load_model.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "relay/rewrite.h"
#include "tests/fuzz/random.h"

namespace tessera::fuzz {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

std::vector<std::string> shuffled_backends(Random& random) {
  std::vector<std::string> names = backend_names();
  for (std::size_t i = names.size(); i > 1; --i) {
    std::swap(names[i - 1], names[static_cast<std::size_t>(random.below(static_cast<int>(i)))]);
  }
  names.resize(static_cast<std::size_t>(1 + random.below(static_cast<int>(names.size()))));
  return names;
}

Module module_of(Function f, const std::string& name) {
  Module module;
  module.functions.emplace(name, std::move(f));
  return module;
}

Result<Module> greedy(const Function& f, const std::string& name, Random& random) {
  std::vector<byoc::BackendChoice> choices;
  for (const std::string& backend : shuffled_backends(random)) {
    choices.push_back({backends::find_backend(backend), Target(backend)});
  }
  TESSERA_TRY(byoc::PartitionOutcome outcome, byoc::partition_greedy(module_of(f, name), choices));
  return std::move(outcome.module);
}

std::string partition_passes(const std::string& name, Random& random) {
  const char* merge = random.below(3) == 0 ? "" : "merge-compiler-regions,";
  const bool binds_constants = random.below(2) == 0;
  return fmt::format("{}partition-graph{{mod_name={},bind_constants={}}}", merge, name,
                     binds_constants);
}

Result<Module> marked(const Function& f, const std::string& name, std::uint64_t seed,
                      Random& random) {
  const Groups groups = random_groups(f, seed);
  const Ends ends = random.below(2) == 0 ? Ends::kOnce : Ends::kEachUse;
  return run_passes(module_of(with_marks(f, groups, ends), name), partition_passes(name, random));
}

std::string supported_operators(const Function& f, const std::vector<std::string>& targets,
                                Random& random) {
  std::set<const relay::Operator*> sized;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (f.op(NodeId(i)) != nullptr && needs_constants(f, NodeId(i))) sized.insert(f.op(NodeId(i)));
  }
  std::vector<std::string> entries;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const relay::Operator* op = f.op(NodeId(i));
    if (op == nullptr || random.below(3) == 0 || sized.contains(op)) continue;
    entries.push_back(fmt::format("{}:{}", random.among(targets), op->name));
  }
  return fmt::format("{}", fmt::join(entries, ","));
}

Result<Module> annotated(const Function& f, const std::string& name, Random& random) {
  const std::vector<std::string> targets = shuffled_backends(random);
  std::string passes;
  if (random.below(2) == 0) passes = "merge-composite{table=example_target_hook},";
  const std::string supported = supported_operators(f, targets, random);
  const bool includes_others = random.below(2) == 0;
  passes += fmt::format("annotate-target{{targets=[{}],supported=[{}],include_non_call_ops={}}},",
                        fmt::join(targets, ","), supported, includes_others);
  return run_passes(module_of(f, name), passes + partition_passes(name, random));
}

// Takes groups out of a function as functions with `Compiler`.
class Outliner {
 public:
  Outliner(const Function& f, std::string name, const Groups& groups, Style style, Random& random)
      : f_(f), name_(std::move(name)), groups_(groups), style_(style), random_(random), uses_(f) {}

  Module run() {
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      if (groups_.of[i] != Groups::kNone) members_[groups_.of[i]].push_back(NodeId(i));
    }
    std::vector<NodeId> order;
    for (const NodeId id : order_of_groups(f_, groups_.of)) {
      for (const relay::RegionId region : relay::regions_of(f_, id)) {
        const auto nested = relay::nodes_within(f_, region);
        order.insert(order.end(), nested.begin(), nested.end());
      }
      order.push_back(id);
    }
    module_.functions[name_] =
        relay::rewrite(f_, order, [&](Copier& c, NodeId id) { return visit(c, id); });
    return std::move(module_);
  }

 private:
  struct Call {
    NodeId node;
    std::vector<NodeId> outputs;  // of the old function
  };

  std::optional<NodeId> visit(Copier& c, NodeId id) {
    const int group = groups_.of[id.index()];
    if (group == Groups::kNone) return std::nullopt;
    if (!calls_.contains(group)) calls_[group] = make_call(c, group);
    const Call& call = calls_.at(group);
    const auto output = std::find(call.outputs.begin(), call.outputs.end(), id);
    if (output == call.outputs.end() || call.outputs.size() == 1) return call.node;
    return c.builder().project(call.node, static_cast<int>(output - call.outputs.begin()));
  }

  Call make_call(Copier& c, int group) {
    const std::string symbol = fmt::format("{}_{}", name_, group);
    relay::Extracted part = relay::extract(f_, uses_, members_.at(group));
    if (random_.below(4) == 0) part.function = in_composite(part.function, group);
    part.function.attrs = {{"Compiler", groups_.targets[static_cast<std::size_t>(group)]},
                           {"Primitive", 1},
                           {"global_symbol", symbol}};
    if (random_.below(2) == 0) part.function.attrs.set("Inline", 1);
    std::vector<NodeId> arguments;
    for (const NodeId input : part.inputs) arguments.push_back(c.map(input));
    const NodeId callee = style_ == Style::kGlobals ? c.builder().global(symbol)
                                                    : relay::embed(c.builder(), part.function);
    const NodeId call = c.builder().call_value(callee, arguments);
    if (style_ == Style::kGlobals) module_.functions.emplace(symbol, std::move(part.function));
    return {call, std::move(part.outputs)};
  }

  // Names of composites promise nothing.
  Function in_composite(Function body, int group) const {
    relay::FunctionBuilder b;
    body.attrs = {{"Composite", groups_.targets[static_cast<std::size_t>(group)] + ".unheard_of"}};
    std::vector<NodeId> params;
    for (const NodeId param : body.params()) {
      params.push_back(b.param(body.as<relay::Param>(param)->name, body.type(param)));
    }
    return b.finish(b.call_value(relay::embed(b, body), params), {}, body.result_annotation);
  }

  const Function& f_;
  const std::string name_;
  const Groups& groups_;
  const Style style_;
  Random& random_;
  const relay::Uses uses_;
  std::map<int, std::vector<NodeId>> members_;
  std::map<int, Call> calls_;
  Module module_;
};

}  // namespace

std::string_view to_string(Style style) {
  constexpr std::string_view kNames[] = {"none",      "greedy",   "marks",
                                         "annotated", "literals", "globals"};
  return kNames[static_cast<std::size_t>(style)];
}

Result<Module> run_passes(Module module, const std::string& text) {
  TESSERA_TRY(const auto calls, passes::parse_pipeline(text, driver::pass_catalogue()));
  static const auto tables = driver::load_pattern_tables({});
  if (!tables) return fail(tables.error());
  passes::ManagerOptions options;
  options.verify_each = true;
  options.pattern_tables = *tables;
  TESSERA_TRY(auto outcome,
              passes::run_passes(std::move(module), calls, ops::operators(), options));
  return std::move(outcome.module);
}

Function with_marks(const Function& f, const Groups& groups, Ends ends) {
  std::map<NodeId, NodeId> ended;
  const auto outside_of = [&](Copier& c, NodeId old) {
    if (groups.of[old.index()] == Groups::kNone) return c.map(old);
    if (ends == Ends::kOnce && ended.contains(old)) return ended.at(old);
    return ended[old] = byoc::make_end(c.builder(), c.map(old), groups.target(old));
  };
  const auto replace = [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (f[id].region != Function::kBody || f.operands(id).empty()) return std::nullopt;
    const int group = groups.of[id.index()];
    std::vector<NodeId> operands;
    for (const NodeId old : f.operands(id)) {
      if (group == Groups::kNone) {
        operands.push_back(outside_of(c, old));
      } else if (groups.of[old.index()] == group) {
        operands.push_back(c.map(old));
      } else {
        operands.push_back(byoc::make_begin(c.builder(), outside_of(c, old), groups.target(id)));
      }
    }
    return c.copy(id, operands);
  };
  const auto close = [&](Copier& c, relay::RegionId region) {
    const NodeId result = f.region(region).result;
    return region == Function::kBody ? outside_of(c, result) : c.map(result);
  };
  return relay::rewrite(f, replace, {}, close);
}

Result<Module> partitioned(const Function& f, const std::string& name, Style style,
                           std::uint64_t seed) {
  Random random(derived_seed(seed, "partition", 0));
  switch (style) {
    case Style::kNone:
      return module_of(f, name);
    case Style::kGreedy:
      return greedy(f, name, random);
    case Style::kMarks:
      return marked(f, name, seed, random);
    case Style::kAnnotated:
      return annotated(f, name, random);
    case Style::kLiterals:
    case Style::kGlobals:
      break;
  }
  const Groups groups = random_groups(f, seed);
  return ops::infer_types(Outliner(f, name, groups, style, random).run());
}

}  // namespace tessera::fuzz
