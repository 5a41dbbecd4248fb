// SPDX-License-Identifier: Apache-2.0
#include "import/indices.h"

namespace tessera::import {

NodeId checked_indices(Node& n, NodeId indices, NodeId data, const Ints& axes) {
  if (axes.empty()) return indices;
  Shape sizes;
  for (const std::int64_t axis : axes) {
    sizes.push_back(n.dim(data, axis));
  }
  const auto known = constant_shape(sizes);
  // The tensor is read by nobody, but for its sizes it has to be there: only where it tells them.
  const NodeId checked =
      known ? n.call("check_indices", {indices}, {{"axes", axes}, {"sizes", *known}})
            : n.call("check_indices", {indices, data}, {{"axes", axes}});
  return known && n.constant(indices) ? indices : checked;
}

NodeId checked_tuples(Node& n, NodeId tuples, NodeId data, std::int64_t first) {
  const auto depth = n.shape(tuples).empty() ? std::nullopt : n.dim(tuples, 0).as_constant();
  // What cannot be right the operator itself refuses.
  if (!depth || first < 0 || *depth > n.rank(data) - first) return tuples;
  return checked_indices(n, tuples, data, range(first, first + *depth));
}

Value take_checked(Value x, NodeId indices, std::int64_t axis) {
  return x.take(checked_indices(x.node(), indices, x, {axis}), axis, "wrap");
}

Value list_input(Node& n, std::size_t i) {
  const Value list = input(n, i);
  if (list.rank() == 1) return list;
  n.invalid(Code::kShapeMismatch, fmt::format("its input {} has the shape {}, and is no list", i,
                                              to_string(list.shape())));
}

}  // namespace tessera::import
