// SPDX-License-Identifier: Apache-2.0
#include "relay/rewrite.h"

#include <algorithm>

namespace tessera::relay {

namespace {

std::vector<NodeId> list_live(const Function& f) {
  const std::vector<bool> live = live_nodes(f);
  std::vector<NodeId> out;
  out.reserve(live.size());
  for (std::size_t i = 0; i < live.size(); ++i) {
    if (live[i]) out.push_back(NodeId(i));
  }
  return out;
}

Function copy_nodes(const Function& f, std::span<const NodeId> nodes,
                    const Copier::Callback& replace, const Copier::Dissolve& dissolve = {},
                    const Copier::Close& close = {}) {
  FunctionBuilder builder;
  Copier copier(f, builder, true);
  copier.run(Function::kBody, nodes, replace, dissolve, close);
  const NodeId result = close ? close(copier, Function::kBody) : copier.map(f.result());
  Function out = builder.finish(result, f.attrs, f.result_annotation);
  out.location = f.location;
  return out;
}

}  // namespace

Function rewrite(const Function& f, const Copier::Callback& replace,
                 const Copier::Dissolve& dissolve, const Copier::Close& close) {
  return without_dead_nodes(copy_nodes(f, list_live(f), replace, dissolve, close));
}

Function rewrite(const Function& f, std::span<const NodeId> order,
                 const Copier::Callback& replace) {
  return without_dead_nodes(copy_nodes(f, order, replace));
}

namespace {

// A region without nodes whose owner was replaced.
bool has_orphans(const Function& f) {
  for (std::size_t i = 1; i < f.num_regions(); ++i) {
    if (!f.region(RegionId(i)).owner) return true;
  }
  return false;
}

}  // namespace

Function without_dead_nodes(Function f) {
  const std::vector<NodeId> live = list_live(f);
  if (live.size() == f.num_nodes() && !has_orphans(f)) return f;
  return copy_nodes(f, live, {});
}

NodeId inline_call(FunctionBuilder& into, const Function& f, std::span<const NodeId> args) {
  TESSERA_CHECK(args.size() == f.params().size(), "{} arguments for {} parameters", args.size(),
                f.params().size());
  Copier copier(f, into, true);
  for (std::size_t i = 0; i < args.size(); ++i) copier.set(f.params()[i], args[i]);
  copier.run(Function::kBody, list_live(f));
  return copier.map(f.result());
}

Function bind_params(const Function& f, const std::map<NodeId, ConstantValue>& bound) {
  FunctionBuilder b;
  std::vector<NodeId> args;
  for (const NodeId id : f.params()) {
    const auto& param = *f.as<Param>(id);
    b.at(f[id].location);
    const auto it = bound.find(id);
    args.push_back(it == bound.end() ? b.param(param.name, param.annotation)
                                     : b.constant(it->second));
  }
  const NodeId result = inline_call(b, f, args);
  Function out = b.finish(result, f.attrs, f.result_annotation);
  out.location = f.location;
  return out;
}

NodeId embed(FunctionBuilder& into, const Function& f) {
  const RegionId body = into.begin_region();
  Copier copier(f, into, true);
  copier.run(Function::kBody, list_live(f));
  into.end_region(copier.map(f.result()));
  into.at(f.location);
  const NodeId literal = into.literal(body, f.attrs, f.result_annotation);
  const Type type = type_of_signature(f);
  const auto is_known = [](const Type& t) { return static_cast<bool>(t); };
  if (type.result() && std::all_of(type.params().begin(), type.params().end(), is_known)) {
    into.set_type(literal, type);
  }
  return literal;
}

Function outline(const Function& f, NodeId literal) {
  const Literal* node = f.as<Literal>(literal);
  TESSERA_CHECK(node != nullptr, "node {} is no function literal", literal.index());
  FunctionBuilder builder;
  Copier copier(f, builder, false);
  copier.run(node->body, nodes_within(f, node->body));
  Function out =
      builder.finish(copier.map(f.region(node->body).result), node->attrs, node->result_annotation);
  out.location = f[literal].location;
  return out;
}

}  // namespace tessera::relay
