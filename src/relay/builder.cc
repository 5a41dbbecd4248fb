// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "relay/function.h"
#include "relay/operator.h"

namespace tessera::relay {

FunctionBuilder::FunctionBuilder() {
  f_.regions_.emplace_back();
  open_.push_back(Function::kBody);
}

NodeId FunctionBuilder::add(NodeData data, std::span<const NodeId> operands) {
  const NodeId id(f_.nodes_.size());
  for (NodeId operand : operands) {
    TESSERA_CHECK(operand.index() < id.index(), "operand {} of node {} is not an earlier node",
                  operand.index(), id.index());
  }
  Node& node = f_.nodes_.emplace_back();
  node.data = std::move(data);
  node.region = open_.back();
  node.first_operand = static_cast<std::uint32_t>(f_.operands_.size());
  node.num_operands = static_cast<std::uint32_t>(operands.size());
  node.location = location_;
  f_.operands_.insert(f_.operands_.end(), operands.begin(), operands.end());
  return id;
}

NodeId FunctionBuilder::param(std::string name, Type annotation) {
  const NodeId id = add(Param{std::move(name), std::move(annotation)}, {});
  f_.regions_[open_.back().index()].params.push_back(id);
  return id;
}

NodeId FunctionBuilder::constant(ConstantValue value) {
  return add(Constant{std::move(value)}, {});
}

NodeId FunctionBuilder::call(const Operator& op, std::span<const NodeId> args, Attrs attrs) {
  const auto finding = op.attrs().normalize(attrs);
  TESSERA_CHECK(!finding, "call of {}: {}", op.name, *finding);
  return add(OpCall{&op, std::move(attrs)}, args);
}

NodeId FunctionBuilder::call_value(NodeId callee, std::span<const NodeId> args, Attrs attrs) {
  std::vector<NodeId> operands{callee};
  operands.insert(operands.end(), args.begin(), args.end());
  return add(ValueCall{std::move(attrs)}, operands);
}

NodeId FunctionBuilder::tuple(std::span<const NodeId> fields) { return add(Tuple{}, fields); }

NodeId FunctionBuilder::project(NodeId tuple, int index) {
  return add(Project{index}, std::span(&tuple, 1));
}

NodeId FunctionBuilder::let(std::string name, NodeId value, Type annotation) {
  return add(Let{std::move(name), std::move(annotation)}, std::span(&value, 1));
}

NodeId FunctionBuilder::global(std::string name) { return add(GlobalRef{std::move(name)}, {}); }

RegionId FunctionBuilder::begin_region() {
  const RegionId id(f_.regions_.size());
  f_.regions_.emplace_back().parent = open_.back();
  open_.push_back(id);
  return id;
}

void FunctionBuilder::end_region(NodeId result) {
  TESSERA_CHECK(open_.size() > 1, "end_region without begin_region");
  TESSERA_CHECK(result.index() < f_.nodes_.size(), "region without a result");
  f_.regions_[open_.back().index()].result = result;
  open_.pop_back();
}

void FunctionBuilder::reopen_region(RegionId region) {
  const Region& r = f_.region(region);
  TESSERA_CHECK(r.parent == open_.back() && !r.owner, "region {} cannot be opened again",
                region.index());
  open_.push_back(region);
}

NodeId FunctionBuilder::literal(RegionId body, Attrs attrs, Type result_annotation) {
  const NodeId id = add(Literal{body, std::move(attrs), std::move(result_annotation)}, {});
  f_.regions_[body.index()].owner = id;
  return id;
}

NodeId FunctionBuilder::if_(NodeId condition, RegionId then_region, RegionId else_region) {
  const NodeId id = add(If{then_region, else_region}, std::span(&condition, 1));
  f_.regions_[then_region.index()].owner = id;
  f_.regions_[else_region.index()].owner = id;
  return id;
}

NodeId FunctionBuilder::copy(const Function& from, NodeId id, std::span<const NodeId> operands) {
  const Node& node = from[id];
  const NodeKind kind = node.kind();
  TESSERA_CHECK(kind != NodeKind::kParam && kind != NodeKind::kLiteral && kind != NodeKind::kIf,
                "node {} cannot be copied alone", id.index());
  const NodeId out = add(node.data, operands);
  f_.nodes_[out.index()].type = node.type;
  f_.nodes_[out.index()].location = node.location;
  return out;
}

Function FunctionBuilder::finish(NodeId result, Attrs attrs, Type result_annotation) {
  TESSERA_CHECK(open_.size() == 1, "{} regions are still open", open_.size() - 1);
  TESSERA_CHECK(result.index() < f_.nodes_.size(), "function without a result");
  f_.regions_[0].result = result;
  f_.attrs = std::move(attrs);
  f_.result_annotation = std::move(result_annotation);
  return std::move(f_);
}

}  // namespace tessera::relay
