// SPDX-License-Identifier: Apache-2.0
#include "byoc/partition.h"

#include <algorithm>
#include <map>

#include "byoc/compiler_functions.h"
#include "byoc/regions.h"
#include "relay/function_attributes.h"
#include "support/check.h"
#include "support/source.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::FunctionBuilder;
using relay::NodeId;

// One region on its way out of `f`.
class RegionMaker {
 public:
  RegionMaker(const Function& f, const relay::Uses& uses, const Claims& claims, const Unit& unit,
              const Backend& backend)
      : f_(f),
        uses_(uses),
        claims_(claims),
        unit_(unit),
        embeds_(backend.constants() == ConstantStyle::kEmbedded) {
    for (const std::size_t c : unit.claims) {
      const auto& nodes = claims.claims[c].match.inside;
      inside_.insert(nodes.begin(), nodes.end());
    }
  }

  Function make(const std::string& symbol, std::string_view backend) {
    FunctionBuilder builder;
    std::map<NodeId, NodeId> values;
    for (const std::size_t c : unit_.claims) declare_inputs(builder, values, claims_.claims[c]);
    std::vector<NodeId> literals;
    for (const std::size_t c : unit_.claims) {
      const Claim& claim = claims_.claims[c];
      std::vector<NodeId> arguments;
      for (const NodeId input : claim.match.inputs)
        arguments.push_back(value(builder, values, input));
      builder.at(f_[claim.match.root].location);
      const NodeId literal = relay::embed(builder, claim.function);
      const NodeId call = builder.call_value(literal, arguments);
      builder.set_type(call, f_.type(claim.match.root));
      values[claim.match.root] = call;
      if (is_output(claim.match.root)) outputs.push_back(claim.match.root);
    }
    NodeId result = values.at(outputs.front());
    Type type = f_.type(outputs.front());
    if (outputs.size() > 1) {
      std::vector<NodeId> fields;
      std::vector<Type> types;
      for (const NodeId id : outputs) {
        fields.push_back(values.at(id));
        types.push_back(f_.type(id));
      }
      result = builder.tuple(fields);
      type = tuple_type(types);
      builder.set_type(result, type);
    }
    return builder.finish(result,
                          {{"global_symbol", symbol},
                           {"Primitive", 1},
                           {"Compiler", std::string(backend)},
                           {"Inline", 1}},
                          type);
  }

  std::vector<NodeId> inputs, outputs;  // of the caller; after make()

 private:
  bool is_produced(NodeId id) const {
    return inside_.count(id) != 0 && !f_.as<relay::Constant>(id);
  }
  bool is_embedded(NodeId id) const { return embeds_ && f_.as<relay::Constant>(id) != nullptr; }

  void declare_inputs(FunctionBuilder& builder, std::map<NodeId, NodeId>& values,
                      const Claim& claim) {
    for (const NodeId id : claim.match.inputs) {
      if (is_produced(id) || is_embedded(id) || values.count(id) != 0) continue;
      values[id] = builder.param(fmt::format("input_{}", inputs.size()), f_.type(id));
      builder.set_type(values[id], f_.type(id));
      inputs.push_back(id);
    }
  }

  NodeId value(FunctionBuilder& builder, std::map<NodeId, NodeId>& values, NodeId id) {
    const auto found = values.find(id);
    if (found != values.end()) return found->second;
    TESSERA_CHECK(is_embedded(id), "a region reads a value before it is there");
    return values[id] = builder.copy(f_, id, {});
  }

  bool is_output(NodeId id) const {
    const auto users = uses_.of(id);
    return uses_.is_result(id) || std::any_of(users.begin(), users.end(), [&](NodeId user) {
             return inside_.count(user) == 0;
           });
  }

  const Function& f_;
  const relay::Uses& uses_;
  const Claims& claims_;
  const Unit& unit_;
  bool embeds_;
  std::set<NodeId> inside_;
};

// The caller and the regions taken out of it.
class FunctionPartitioner {
 public:
  FunctionPartitioner(const Function& f, std::string name, const Claims& claims,
                      std::span<const BackendChoice> choices, PartitionOutcome& outcome)
      : f_(f),
        name_(std::move(name)),
        uses_(f),
        claims_(claims),
        choices_(choices),
        units_(form_units(f, claims, choices)),
        outcome_(outcome),
        copier_(f, builder_, true) {}

  // What back ends refuse of the regions as a whole.
  Vetoes vetoes() {
    Vetoes out;
    for (const Unit& unit : units_) {
      if (unit.choice < 0) continue;
      const BackendChoice& choice = choices_[static_cast<std::size_t>(unit.choice)];
      RegionMaker maker(f_, uses_, claims_, unit, *choice.backend);
      const auto why =
          choice.validate(maker.make("region", choice.backend->name()), outcome_.module.constants);
      if (!why) continue;
      for (const std::size_t c : unit.claims) {
        out[{claims_.claims[c].match.root, static_cast<std::size_t>(unit.choice)}] = why->reason;
      }
    }
    return out;
  }

  Function run() {
    std::vector<NodeId> leaves;
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const NodeId id{i};
      if (f_[id].region != Function::kBody) continue;
      if (f_.as<relay::Param>(id) || f_.as<relay::Constant>(id)) leaves.push_back(id);
    }
    copier_.run(Function::kBody, leaves);
    for (const Unit& unit : units_) {
      if (unit.choice < 0) {
        keep(unit.node);
      } else {
        take_out(unit);
      }
    }
    return builder_.finish(copier_.map(f_.result()), f_.attrs, f_.result_annotation);
  }

 private:
  void keep(NodeId id) {
    std::vector<NodeId> nodes;
    for (const relay::RegionId region : relay::regions_of(f_, id)) {
      const auto within = relay::nodes_within(f_, region);
      nodes.insert(nodes.end(), within.begin(), within.end());
    }
    nodes.push_back(id);
    std::sort(nodes.begin(), nodes.end());
    copier_.run(Function::kBody, nodes);
  }

  std::string fresh_symbol(std::string_view backend) {
    // A function may have any name, and what compilers see is a name of C.
    const std::string stem = c_identifier(fmt::format("{}_{}", backend, name_));
    for (;; ++counter_[std::string(backend)]) {
      std::string symbol = fmt::format("{}_{}", stem, counter_[std::string(backend)]);
      if (outcome_.module.functions.count(symbol) == 0) return symbol;
    }
  }

  // A constant that many nodes mention is known by the first, which the call may not see.
  NodeId argument(NodeId id) {
    return f_[id].region == Function::kBody ? copier_.map(id) : builder_.copy(f_, id, {});
  }

  void take_out(const Unit& unit) {
    const Backend& backend = *choices_[static_cast<std::size_t>(unit.choice)].backend;
    RegionMaker maker(f_, uses_, claims_, unit, backend);
    const std::string symbol = fresh_symbol(backend.name());
    Function region = maker.make(symbol, backend.name());
    PlacedRegion placed{
        symbol, std::string(backend.name()), {}, operators_of(region), sources_of(region)};
    for (const std::size_t c : unit.claims)
      placed.composites.push_back(claims_.claims[c].composite);
    outcome_.regions.push_back(std::move(placed));

    std::vector<NodeId> arguments;
    for (const NodeId id : maker.inputs) arguments.push_back(argument(id));
    const Type type = region.type(region.result());
    const NodeId callee = builder_.global(symbol);
    builder_.set_type(callee, relay::type_of_signature(region));
    const NodeId call = builder_.call_value(callee, arguments);
    builder_.set_type(call, type);
    for (std::size_t i = 0; i < maker.outputs.size(); ++i) {
      NodeId value = call;
      if (maker.outputs.size() > 1) {
        value = builder_.project(call, static_cast<int>(i));
        builder_.set_type(value, f_.type(maker.outputs[i]));
      }
      copier_.set(maker.outputs[i], value);
    }
    outcome_.module.functions.emplace(symbol, std::move(region));
  }

  const Function& f_;
  std::string name_;
  relay::Uses uses_;
  const Claims& claims_;
  std::span<const BackendChoice> choices_;
  std::vector<Unit> units_;
  PartitionOutcome& outcome_;
  FunctionBuilder builder_;
  Copier copier_;
  std::map<std::string, int> counter_;
};

void report_refusals(const Function& f, const Claims& claims,
                     std::span<const BackendChoice> choices, PartitionOutcome& outcome) {
  std::set<std::pair<NodeId, std::size_t>> seen;
  for (const RefusedNode& r : claims.refused) {
    if (!seen.insert({r.node, r.choice}).second) continue;
    const std::int32_t claim = claims.of_node[r.node.index()];
    const std::string taken_by(
        claim < 0 ? "native"
                  : choices[claims.claims[static_cast<std::size_t>(claim)].choice].backend->name());
    outcome.refusals.push_back({std::string(choices[r.choice].backend->name()), r.composite,
                                std::string(f.op(r.node)->name), f[r.node].location, r.reason,
                                taken_by});
  }
}

// Back ends that have their library, and the sentence of those that have not.
std::vector<BackendChoice> usable(std::span<const BackendChoice> choices,
                                  PartitionOutcome& outcome) {
  std::vector<BackendChoice> out;
  for (const BackendChoice& choice : choices) {
    if (const auto why = choice.backend->available(choice.target)) {
      outcome.refusals.push_back(refusal_of(choice, *why));
    } else {
      out.push_back(choice);
    }
  }
  return out;
}

Function partition_body(const Function& f, const std::string& name,
                        std::span<const BackendChoice> backends, PartitionOutcome& outcome,
                        const Assignment* assignment) {
  Vetoes vetoes;
  Claims claims = claim_composites(f, outcome.module.constants, backends, vetoes, assignment);
  Function rest = f;
  // A round that finds a veto takes at least one composite from a back end for good.
  while (!claims.claims.empty()) {
    FunctionPartitioner partitioner(f, name, claims, backends, outcome);
    const Vetoes more = partitioner.vetoes();
    if (more.empty()) {
      rest = partitioner.run();
      rest.location = f.location;
      break;
    }
    vetoes.insert(more.begin(), more.end());
    claims = claim_composites(f, outcome.module.constants, backends, vetoes, assignment);
  }
  report_refusals(f, claims, backends, outcome);
  return rest;
}

Function partition_all(const Function& f, const std::string& name,
                       std::span<const BackendChoice> backends, PartitionOutcome& outcome);

// Branches are scopes: what is in one is partitioned as a function of what the branch reads, and
// put back.
class BranchPartitioner {
 public:
  BranchPartitioner(const Function& f, const std::string& name,
                    std::span<const BackendChoice> backends, PartitionOutcome& outcome)
      : f_(f), captured_(relay::captures(f)) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      const NodeId id(i);
      if (f[id].region != Function::kBody || f.as<relay::If>(id) == nullptr) continue;
      for (const relay::RegionId branch : relay::regions_of(f, id)) {
        if (f[f.region(branch).result].region != branch) continue;
        made_.emplace(branch, partition_all(branch_function(branch), name, backends, outcome));
      }
    }
  }

  bool empty() const { return made_.empty(); }

  Function run() {
    return relay::rewrite(
        f_,
        [&](Copier& c, NodeId id) -> std::optional<NodeId> {
          // The names in a branch come back with it.
          const bool replaced = f_.as<relay::Let>(id) != nullptr && is_replaced(f_[id].region);
          return replaced ? std::optional(c.map(f_.operands(id)[0])) : std::nullopt;
        },
        {},
        [&](Copier& c, relay::RegionId region) {
          const auto made = made_.find(region);
          if (made == made_.end()) return c.map(f_.region(region).result);
          std::vector<NodeId> arguments;
          for (const NodeId id : inputs_of(f_.region(region).owner)) arguments.push_back(c.map(id));
          return relay::inline_call(c.builder(), made->second, arguments);
        });
  }

 private:
  bool is_replaced(relay::RegionId region) const {
    for (; region; region = f_.region(region).parent) {
      if (made_.contains(region)) return true;
    }
    return false;
  }

  bool is_copied(NodeId id) const {
    return f_.as<relay::Constant>(id) != nullptr || f_.as<relay::GlobalRef>(id) != nullptr;
  }
  std::vector<NodeId> inputs_of(NodeId owner) const {
    std::vector<NodeId> inputs = captured_[owner.index()];
    std::erase_if(inputs, [&](NodeId id) { return is_copied(id); });
    return inputs;
  }

  Function branch_function(relay::RegionId branch) const {
    FunctionBuilder builder;
    Copier copier(f_, builder, false);
    const NodeId owner = f_.region(branch).owner;
    for (const NodeId id : captured_[owner.index()]) {
      if (is_copied(id)) {
        copier.set(id, copier.copy(id));
        continue;
      }
      const NodeId param = builder.param(fmt::format("outer_{}", id.index()), f_.type(id));
      builder.set_type(param, f_.type(id));
      copier.set(id, param);
    }
    copier.run(branch, relay::nodes_within(f_, branch));
    const NodeId result = f_.region(branch).result;
    return builder.finish(copier.map(result), {}, f_.type(result));
  }

  const Function& f_;
  const std::vector<std::vector<NodeId>> captured_;
  std::map<relay::RegionId, Function> made_;
};

Function partition_all(const Function& f, const std::string& name,
                       std::span<const BackendChoice> backends, PartitionOutcome& outcome) {
  BranchPartitioner branches(f, name, backends, outcome);
  return partition_body(branches.empty() ? f : branches.run(), name, backends, outcome, nullptr);
}

}  // namespace

void partition_function(const std::string& name, std::span<const BackendChoice> backends,
                        PartitionOutcome& outcome, const Assignment* assignment) {
  const Function f = outcome.module.functions.at(name);
  outcome.module.functions.at(name) = assignment == nullptr
                                          ? partition_all(f, name, backends, outcome)
                                          : partition_body(f, name, backends, outcome, assignment);
}

PlacementRefusal refusal_of(const BackendChoice& choice, const Refusal& why) {
  return {std::string(choice.backend->name()), "", "", {}, why.reason, "native"};
}

std::vector<std::string> functions_to_partition(const Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, f] : module.functions) {
    if (relay::is_optimizable(f) && !relay::is_primitive(f.attrs)) names.push_back(name);
  }
  return names;
}

Result<PartitionOutcome> partition_greedy(Module module, std::span<const BackendChoice> choices) {
  PartitionOutcome outcome;
  const std::vector<BackendChoice> backends = usable(choices, outcome);
  outcome.module = std::move(module);
  for (const std::string& name : functions_to_partition(outcome.module)) {
    partition_function(name, backends, outcome);
  }
  return outcome;
}

}  // namespace tessera::byoc
