// SPDX-License-Identifier: Apache-2.0
#include "byoc/given_composites.h"

#include <algorithm>

#include <fmt/format.h>

#include "byoc/compiler_functions.h"
#include "relay/inline_literals.h"
#include "relay/structural_equal.h"

namespace tessera::byoc {
namespace {

using relay::Function;
using relay::NodeId;
using relay::Pattern;

// What is the same as the composite's body, with its types; nothing where that holds more than
// calls of operators.
std::optional<Pattern> pattern_of(const Function& composite) {
  std::vector<Pattern> of_node(composite.num_nodes());
  for (std::size_t i = 0; i < composite.num_nodes(); ++i) {
    const NodeId id(i);
    const auto* call = composite.as<relay::OpCall>(id);
    if (composite.as<relay::Param>(id) != nullptr) {
      of_node[i] = relay::wildcard().has_type(composite.type(id));
    } else if (call != nullptr) {
      std::vector<Pattern> operands;
      for (const NodeId operand : composite.operands(id)) {
        operands.push_back(of_node[operand.index()]);
      }
      Pattern made = relay::is_op(std::string(call->op->name), std::move(operands));
      of_node[i] = made.has_attrs(call->attrs).has_type(composite.type(id));
    } else {
      return std::nullopt;
    }
  }
  return composite.op(composite.result()) != nullptr
             ? std::optional(of_node[composite.result().index()])
             : std::nullopt;
}

}  // namespace

std::vector<GivenComposite> given_composites(const Function& f) {
  std::vector<GivenComposite> out;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const auto* literal = f.as<relay::Literal>(NodeId(i));
    const std::string name = literal ? literal->attrs.string_or_empty("Composite") : "";
    if (name.empty()) continue;
    Function body = relay::inline_literals(relay::outline(f, NodeId(i)));
    body.attrs = {};
    const bool known = std::any_of(out.begin(), out.end(), [&](const GivenComposite& c) {
      return c.name == name && relay::structural_equal(c.function, body);
    });
    if (!known) out.push_back({name, std::move(body)});
  }
  return out;
}

WithGivenComposites::WithGivenComposites(const BackendChoice& choice,
                                         std::span<const GivenComposite> given)
    : backend_(*choice.backend) {
  for (const GivenComposite& composite : given) {
    if (backend_.refuses_composite(composite.function, choice.target)) continue;
    if (auto pattern = pattern_of(composite.function)) {
      given_.push_back({composite.name, *std::move(pattern), nullptr});
    }
  }
}

std::vector<CompositePattern> WithGivenComposites::patterns(const Target& target) const {
  std::vector<CompositePattern> out = given_;
  for (CompositePattern& own : backend_.patterns(target)) out.push_back(std::move(own));
  return out;
}

std::optional<std::vector<PlacementRefusal>> why_apart(const GivenComposite& composite,
                                                       const BackendChoice& choice,
                                                       const ConstantPool& pool) {
  const WithGivenComposites backend(choice, {&composite, 1});
  const BackendChoice alone{&backend, choice.target};
  PartitionOutcome trial;
  trial.module.constants = pool;
  trial.module.functions.emplace("composite", composite.function);
  partition_function("composite", {&alone, 1}, trial);
  const Function& rest = trial.module.functions.at("composite");
  const std::vector<std::string> left = operators_of(rest);
  if (left.empty() && trial.regions.size() <= 1) return std::nullopt;
  if (!trial.refusals.empty()) return std::move(trial.refusals);
  const auto why = choice.backend->refuses_composite(composite.function, choice.target);
  const std::string reason =
      why ? why->reason : fmt::format("its operators are {} regions", trial.regions.size());
  const std::string name(choice.backend->name());
  if (left.empty())
    return std::vector<PlacementRefusal>{{name, composite.name, "", {}, reason, name}};
  std::vector<PlacementRefusal> out;
  for (std::size_t i = 0; i < rest.num_nodes(); ++i) {
    const NodeId id(i);
    if (const relay::Operator* op = rest.op(id)) {
      out.push_back(
          {name, composite.name, std::string(op->name), rest[id].location, reason, "native"});
    }
  }
  return out;
}

}  // namespace tessera::byoc
