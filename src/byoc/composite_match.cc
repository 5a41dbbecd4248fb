// SPDX-License-Identifier: Apache-2.0
#include "byoc/composite_match.h"

#include "constants/pool.h"

namespace tessera::byoc {

std::optional<relay::Match> composite_match(const relay::Function& region,
                                            const ConstantPool& pool) {
  const auto operands = region.operands(region.result());
  const auto* literal = operands.empty() ? nullptr : region.as<relay::Literal>(operands[0]);
  if (literal == nullptr) return std::nullopt;
  const relay::Region& body = region.region(literal->body);
  relay::Match match;
  match.function = &region;
  match.pool = &pool;
  match.root = body.result;
  match.inputs = body.params;
  for (std::size_t i = 0; i < region.num_nodes(); ++i) {
    const relay::NodeId id{i};
    const bool is_inside = region[id].region == literal->body;
    if (is_inside && region.as<relay::Param>(id) == nullptr) match.inside.push_back(id);
  }
  return match;
}

const Tensor* constant_of(const relay::Function& function, const ConstantPool* pool,
                          relay::NodeId id) {
  const auto* constant = function.as<relay::Constant>(id);
  if (constant == nullptr) return nullptr;
  const auto* tensor = std::get_if<Tensor>(&constant->value);
  return tensor == nullptr && pool != nullptr ? &pool->resolve(constant->value) : tensor;
}

}  // namespace tessera::byoc
