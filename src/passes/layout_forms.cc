// SPDX-License-Identifier: Apache-2.0
#include "passes/layout_forms.h"

#include "ops/records/table.h"
#include "passes/evaluated_call.h"
#include "relay/operator.h"

namespace tessera::passes {

using relay::NodeId;

Permutation inverse(const Permutation& p) {
  Permutation out(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) {
    out[static_cast<std::size_t>(p[i])] = static_cast<std::int64_t>(i);
  }
  return out;
}

Permutation compose(const Permutation& first, const Permutation& second) {
  Permutation out;
  for (const std::int64_t axis : second) out.push_back(first[static_cast<std::size_t>(axis)]);
  return out;
}

bool is_identity(const Permutation& p) {
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (p[i] != static_cast<std::int64_t>(i)) return false;
  }
  return true;
}

std::int64_t position(const Permutation& p, std::int64_t axis) {
  return inverse(p)[static_cast<std::size_t>(axis)];
}

const Form* LayoutForms::find(NodeId old) const {
  const auto it = forms_.find(old);
  return it == forms_.end() ? nullptr : &it->second;
}

NodeId LayoutForms::define(relay::Copier& c, NodeId old, Form form) {
  const NodeId plain = transposed(c, form.node, inverse(form.axes));
  c.builder().set_type(plain, c.from().type(old));
  forms_[old] = std::move(form);
  return plain;
}

NodeId LayoutForms::permuted(relay::Copier& c, NodeId old, const Permutation& axes, NodeId user) {
  const NodeId made = make_permuted(c, old, axes, user);
  asked_[old].emplace_back(axes, made);
  return made;
}

const LayoutForms::Asked& LayoutForms::asked_for(NodeId old) const {
  static const Asked kNever;
  const auto it = asked_.find(old);
  return it == asked_.end() ? kNever : it->second;
}

NodeId LayoutForms::make_permuted(relay::Copier& c, NodeId old, const Permutation& axes,
                                  NodeId user) {
  const NodeId plain = c.map(old);
  const Type& type = c.from().type(old);
  if (type.rank() == 0) return plain;
  const Form* form = find(old);
  if (form != nullptr && form->axes == axes) return form->node;
  const Key key{old, c.from()[user].region, axes};
  if (const auto it = made_.find(key); it != made_.end()) return it->second;
  NodeId made;
  if (type.rank() < axes.size()) {
    std::vector<std::int64_t> shape(axes.size() - type.rank(), 1);
    for (const Dim& d : type.shape()) shape.push_back(d.constant());
    made = transposed(c, reshaped(c, plain, shape), axes);
  } else if (form != nullptr) {
    made = transposed(c, form->node, compose(inverse(form->axes), axes));
  } else {
    made = transposed(c, plain, axes);
  }
  made_.emplace(key, made);
  return made;
}

NodeId LayoutForms::transposed(relay::Copier& c, NodeId node, const Permutation& axes) {
  return is_identity(axes)
             ? node
             : evaluated_call(c, pool_, ops::op("transpose"), {&node, 1}, {{"axes", axes}});
}

NodeId LayoutForms::reshaped(relay::Copier& c, NodeId node,
                             const std::vector<std::int64_t>& shape) {
  return evaluated_call(c, pool_, ops::op("reshape"), {&node, 1}, {{"newshape", shape}});
}

}  // namespace tessera::passes
