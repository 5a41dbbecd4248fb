// SPDX-License-Identifier: Apache-2.0
#include "relay/shape_needs.h"

#include <algorithm>

namespace tessera::relay {

ShapeNeed shape_need_of(const Operator& op, std::size_t operand) {
  return operand < std::size(op.shape_need) ? op.shape_need[operand] : ShapeNeed::kShape;
}

bool has_no_inputs(const Function& f, NodeId id) {
  const bool is_value = f.as<Constant>(id) != nullptr || f.op(id) != nullptr;
  return is_value && f.operands(id).empty();
}

bool has_unknown_size(const Type& type) {
  const std::vector<Type> tensors = flatten(type);
  return std::any_of(tensors.begin(), tensors.end(), [](const Type& t) {
    return std::any_of(t.shape().begin(), t.shape().end(),
                       [](const Dim& d) { return d.is_unknown(); });
  });
}

}  // namespace tessera::relay
