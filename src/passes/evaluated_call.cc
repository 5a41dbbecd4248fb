// SPDX-License-Identifier: Apache-2.0
#include "passes/evaluated_call.h"

#include <vector>

#include "ops/evaluation/evaluate_call.h"

namespace tessera::passes {

using relay::NodeId;

Tensor evaluated(const relay::Operator& op, std::span<const Tensor> values,
                 const relay::Attrs& attrs) {
  std::vector<Type> types;
  std::vector<const Tensor*> data;
  for (const Tensor& t : values) {
    types.push_back(t.type());
    data.push_back(&t);
  }
  const auto type = op.infer({types, data, attrs, {}, op.name});
  TESSERA_CHECK(type.has_value(), "{} of constants: {}", op.name, render(type.error()));
  auto results = ops::evaluate_call(op, {values, attrs, *type});
  TESSERA_CHECK(results.has_value(), "{} of constants: {}", op.name, render(results.error()));
  return std::move(results->front());
}

NodeId evaluated_call(relay::Copier& c, const ConstantPool& pool, const relay::Operator& op,
                      std::span<const NodeId> operands, relay::Attrs attrs) {
  std::vector<Tensor> values;
  for (const NodeId operand : operands) {
    const auto* constant = c.builder().peek().as<relay::Constant>(operand);
    if (constant == nullptr) return c.builder().call(op, operands, std::move(attrs));
    values.push_back(pool.resolve(constant->value));
  }
  const Tensor result = evaluated(op, values, attrs);
  const NodeId made = c.builder().constant(result);
  c.builder().set_type(made, result.type());
  return made;
}

}  // namespace tessera::passes
