// SPDX-License-Identifier: Apache-2.0
#include "lower/host_lowering.h"

#include "lower/primitive.h"
#include "module/output_names.h"
#include "relay/evaluation_order.h"

namespace tessera::lower {

using relay::Function;
using relay::NodeId;
using relay::RegionId;

Result<tir::PrimFunc> HostLowering::run() {
  for (NodeId param : f_.params()) {
    const std::vector<Type> parts = flatten(f_.type(param));
    const std::string& name = f_.as<relay::Param>(param)->name;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const std::string part = parts.size() == 1 ? name : fmt::format("{}_{}", name, i);
      value(param).push_back(host_.input(part, parts[i]));
    }
  }
  TESSERA_TRY(const TailRecursion recursion, find_tail_recursion(f_, name_));
  if (recursion.calls.empty()) {
    TESSERA_TRY_VOID(lower_region(Function::kBody));
  } else {
    TESSERA_TRY_VOID(lower_loop(recursion));
  }
  return finish();
}

std::vector<Type> HostLowering::types_of_nodes(std::span<const NodeId> nodes) const {
  std::vector<Type> types;
  for (const NodeId node : nodes) types.push_back(type(node));
  return types;
}

Result<void> HostLowering::lower_region(RegionId region, NodeId except) {
  Diagnostics errors;
  for (const NodeId id : nodes_[region.index()]) {
    if (except && relay::behind_lets(f_, id) == except) continue;
    const auto operands = f_.operands(id);
    // What reads a node that failed has no values to work on; its user hears of that node.
    if (std::any_of(operands.begin(), operands.end(),
                    [&](NodeId o) { return failed_.contains(o); })) {
      failed_.insert(id);
      continue;
    }
    if (auto done = lower_node(id); !done) {
      errors.add(std::move(done).error());
      failed_.insert(id);
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  return {};
}

Result<void> HostLowering::lower_node(NodeId id) {
  const auto operands = f_.operands(id);
  if (loop_ != nullptr) {
    if (const auto update = loop_->in_place.find(id); update != loop_->in_place.end()) {
      return update_in_place(id, update->second);
    }
  }
  switch (f_[id].kind()) {
    case relay::NodeKind::kParam:
    case relay::NodeKind::kConstant:  // when it is used
    case relay::NodeKind::kLiteral:
    case relay::NodeKind::kGlobalRef:
      return {};
    case relay::NodeKind::kTuple:
      value(id) = values_of(operands);
      types_[id.index()] = tuple_type(types_of_nodes(operands));
      return {};
    case relay::NodeKind::kProject:
      project(id, operands[0], f_.as<relay::Project>(id)->index);
      return {};
    case relay::NodeKind::kLet:
      value(id) = values_of(operands);
      types_[id.index()] = type(operands[0]);
      return {};
    case relay::NodeKind::kOpCall:
      return lower_operator(id);
    case relay::NodeKind::kValueCall:
      return lower_value_call(id);
    case relay::NodeKind::kIf:
      return lower_if(id);
  }
  return {};
}

HostLowering::Values HostLowering::values_of(std::span<const NodeId> nodes) {
  Values out;
  for (NodeId node : nodes) {
    if (const auto* c = f_.as<relay::Constant>(node); c != nullptr && value(node).empty()) {
      const auto* index = std::get_if<ConstantIndex>(&c->value);
      const ConstantIndex i =
          index != nullptr ? *index : module_.constants.add(std::get<Tensor>(c->value));
      value(node) = {host_.constant(i, module_.constants[i])};
    }
    out.insert(out.end(), value(node).begin(), value(node).end());
  }
  return out;
}

void HostLowering::project(NodeId id, NodeId tuple, int index) {
  const std::vector<Type>& fields = type(tuple).fields();
  std::size_t first = 0;
  for (int i = 0; i < index; ++i) first += flatten(fields[static_cast<std::size_t>(i)]).size();
  const auto begin = value(tuple).begin() + static_cast<std::ptrdiff_t>(first);
  types_[id.index()] = fields[static_cast<std::size_t>(index)];
  value(id).assign(begin, begin + static_cast<std::ptrdiff_t>(flatten(type(id)).size()));
}

Result<tir::PrimFunc> HostLowering::finish() {
  const NodeId result = f_.result();
  Values results = values_of({&result, 1});
  const std::vector<Type> types = flatten(type(result));
  const std::vector<bool> copies = host_.copies_needed(results);
  const std::vector<std::string> names = output_names(f_, results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (host_.has_run_time_size(types[i])) {
      const HostValue output = host_.late_output(names[i], types[i]);
      copy(results[i], types[i], output);
      results[i] = output;
      continue;
    }
    if (!copies[i]) continue;
    const Definitions copy = copy_definition(types[i]);
    const std::string symbol = kernels_.symbol_of(lower_definitions(copy));
    results[i] = host_.call({symbol, {results[i]}, dims_of(copy)}, {types[i]}, "copy").front();
  }
  tir::PrimFunc f = host_.finish(results, names);
  if (f_.location) f.sources.push_back(f_.location);
  return f;
}

}  // namespace tessera::lower
