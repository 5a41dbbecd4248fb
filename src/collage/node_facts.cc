// SPDX-License-Identifier: Apache-2.0
#include "collage/node_facts.h"

#include <algorithm>

#include "relay/fusion_number.h"
#include "relay/patterns/matcher.h"
#include "relay/shape_needs.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::IndexedKind;
using relay::NodeId;
using relay::OpPattern;

// A scalar of a data type that texts have literals for.
bool is_simple_scalar(const Tensor& tensor) {
  constexpr DType kSimple[] = {kInt16, kInt32, kInt64, kFloat16, kFloat32, kFloat64, kBool};
  return tensor.is_scalar() &&
         std::find(std::begin(kSimple), std::end(kSimple), tensor.dtype) != std::end(kSimple);
}

bool is_data_dependent(const Function& f, NodeId call) {
  const relay::Operator& op = *f.op(call);
  for (std::size_t k = 0; k < f.operands(call).size(); ++k) {
    if (relay::shape_need_of(op, k) == relay::ShapeNeed::kData) return true;
  }
  return false;
}

bool has_tensors_alone(const Type& tuple) {
  if (!tuple || !tuple.is_tuple()) return false;
  const auto& fields = tuple.fields();
  return std::all_of(fields.begin(), fields.end(),
                     [](const Type& t) { return t && t.is_tensor(); });
}

NodeFacts call_facts(const Function& f, NodeId id) {
  if (const relay::Operator* op = f.op(id)) {
    const bool opaque = is_dynamic(f.type(id)) && is_data_dependent(f, id);
    return {opaque ? OpPattern::kOpaque : op->pattern, false, std::string(op->name)};
  }
  const auto* literal = f.as<relay::Literal>(f.operands(id)[0]);
  if (literal == nullptr) return {OpPattern::kOpaque, false, "call_any"};
  const auto* number = literal->attrs.find("TOpPattern");
  const auto kind = number != nullptr && number->as<std::int64_t>() != nullptr
                        ? relay::fusion_pattern(*number->as<std::int64_t>())
                        : std::nullopt;
  if (!kind) return {OpPattern::kOpaque, false, "call_fun"};
  return {*kind, false, "call_prim"};
}

NodeFacts tuple_facts(const Type& tuple, const char* label) {
  return {has_tensors_alone(tuple) ? OpPattern::kInjective : OpPattern::kOpaque, false, label};
}

// A list from which an operator knows the shape of its result: as an argument it would say nothing.
bool says_shape(const relay::IndexedGraph& graph, std::uint32_t index) {
  const Function& f = graph.function();
  for (const std::uint32_t user : graph[index].outputs) {
    if (graph[user].kind != IndexedKind::kNode || f.op(graph[user].node) == nullptr) continue;
    const auto operands = f.operands(graph[user].node);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      const bool is_data =
          relay::shape_need_of(*f.op(graph[user].node), k) == relay::ShapeNeed::kData;
      if (is_data && graph.index_of(operands[k]) == index) return true;
    }
  }
  return false;
}

NodeFacts constant_facts(const relay::IndexedGraph& graph, std::uint32_t index,
                         const ConstantPool& pool) {
  const auto& constant = *graph.function().as<relay::Constant>(graph[index].node);
  if (is_simple_scalar(pool.resolve(constant.value))) {
    return {OpPattern::kElemWise, true, "scalar"};
  }
  return {OpPattern::kElemWise, says_shape(graph, index), "const"};
}

NodeFacts value_facts(const relay::IndexedGraph& graph, std::uint32_t index,
                      const ConstantPool& pool) {
  const Function& f = graph.function();
  const NodeId id = graph[index].node;
  switch (f[id].kind()) {
    case relay::NodeKind::kOpCall:
    case relay::NodeKind::kValueCall:
      return call_facts(f, id);
    case relay::NodeKind::kConstant:
      return constant_facts(graph, index, pool);
    case relay::NodeKind::kTuple:
      return tuple_facts(f.type(id), "tuple");
    case relay::NodeKind::kProject:
      return tuple_facts(f.type(f.operands(id)[0]), "proj");
    case relay::NodeKind::kParam:
      return {OpPattern::kOpaque, false, "param"};
    case relay::NodeKind::kLet:
      return {OpPattern::kOpaque, false, "let_var"};
    case relay::NodeKind::kIf:
      return {OpPattern::kOpaque, false, "if"};
    case relay::NodeKind::kLiteral:
      return {OpPattern::kOpaque, true, "fun"};
    case relay::NodeKind::kGlobalRef:
      return {OpPattern::kOpaque, false, "global"};
  }
  return {};
}

}  // namespace

NodeFacts facts_of(const relay::IndexedGraph& graph, std::uint32_t index,
                   const ConstantPool& pool) {
  switch (graph[index].kind) {
    case IndexedKind::kNode:
      return value_facts(graph, index, pool);
    case IndexedKind::kOperator:
      return {OpPattern::kOpaque, true, "op"};
    case IndexedKind::kLet:
      return {OpPattern::kOpaque, false, "let"};
    case IndexedKind::kFunction:
      break;
  }
  return {OpPattern::kOpaque, true, "fun"};
}

}  // namespace tessera::collage
