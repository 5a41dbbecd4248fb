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
  return !std::all_of(tensors.begin(), tensors.end(),
                      [](const Type& t) { return has_names(t.shape()); });
}

}  // namespace tessera::relay
