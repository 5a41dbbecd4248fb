// SPDX-License-Identifier: Apache-2.0
#include "relay/close_literal.h"

#include <set>

namespace tessera::relay {
namespace {

std::set<NodeId> read_from_outside(const Function& f, RegionId body) {
  std::set<NodeId> out;
  const auto note = [&](NodeId id) {
    if (!is_within(f, f[id].region, body)) out.insert(id);
  };
  for (const NodeId id : nodes_within(f, body)) {
    for (const NodeId operand : f.operands(id)) note(operand);
    for (const RegionId region : regions_of(f, id)) note(f.region(region).result);
  }
  note(f.region(body).result);
  return out;
}

std::string name_of(const Function& f, NodeId id) {
  if (const auto* param = f.as<Param>(id)) return param->name;
  if (const auto* let = f.as<Let>(id)) return let->name;
  return "captured";
}

}  // namespace

std::vector<NodeId> captured_values(const Function& f, NodeId literal) {
  std::vector<NodeId> values;
  for (const NodeId id : read_from_outside(f, f.as<Literal>(literal)->body)) {
    if (f.as<GlobalRef>(id) == nullptr) values.push_back(id);
  }
  return values;
}

Function close_literal(const Function& f, NodeId literal, const std::vector<NodeId>& captured,
                       const Copier::Callback& replace) {
  const Literal& node = *f.as<Literal>(literal);
  FunctionBuilder builder;
  Copier copier(f, builder, false);
  for (const NodeId id : captured) {
    builder.at(f[id].location);
    const NodeId param = builder.param(name_of(f, id), known_type(f, id));
    builder.set_type(param, f.type(id));
    copier.set(id, param);
  }
  for (const NodeId id : read_from_outside(f, node.body)) {
    if (const auto* global = f.as<GlobalRef>(id)) copier.set(id, builder.global(global->name));
  }
  copier.run(node.body, nodes_within(f, node.body), replace);
  Function out =
      builder.finish(copier.map(f.region(node.body).result), node.attrs, node.result_annotation);
  out.location = f[literal].location;
  return out;
}

Type known_type(const Function& f, NodeId id) {
  if (f.type(id)) return f.type(id);
  if (const auto* param = f.as<Param>(id)) return param->annotation;
  if (const auto* let = f.as<Let>(id)) return let->annotation;
  const auto* constant = f.as<Constant>(id);
  const auto* tensor = constant != nullptr ? std::get_if<Tensor>(&constant->value) : nullptr;
  return tensor != nullptr ? tensor->type() : Type();
}

}  // namespace tessera::relay
