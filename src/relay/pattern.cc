// SPDX-License-Identifier: Apache-2.0
#include "relay/pattern.h"

#include "relay/pattern_node.h"

namespace tessera::relay {

namespace {

Pattern make(PatternNode node) { return Pattern(std::make_shared<PatternNode>(std::move(node))); }

}  // namespace

Pattern Pattern::operator|(const Pattern& other) const {
  PatternNode n;
  n.kind = PatternKind::kEither;
  n.children = {*this, other};
  return make(std::move(n));
}

Pattern Pattern::optional(const std::function<Pattern(Pattern)>& f) const {
  return f(*this) | *this;
}

Pattern Pattern::has_attr(std::string name, AttrValue value) const {
  PatternNode n;
  n.kind = PatternKind::kAttr;
  n.name = std::move(name);
  n.value = std::move(value);
  n.children = {*this};
  return make(std::move(n));
}

Pattern Pattern::has_dtype(DType dtype) const {
  PatternNode n;
  n.kind = PatternKind::kDtype;
  n.dtype = dtype;
  n.children = {*this};
  return make(std::move(n));
}

Pattern Pattern::has_shape(Shape shape) const {
  PatternNode n;
  n.kind = PatternKind::kShape;
  n.shape = std::move(shape);
  n.children = {*this};
  return make(std::move(n));
}

Pattern wildcard(std::string capture) {
  PatternNode n;
  n.capture = std::move(capture);
  return make(std::move(n));
}

Pattern is_constant(std::string capture) {
  PatternNode n;
  n.kind = PatternKind::kConstant;
  n.capture = std::move(capture);
  return make(std::move(n));
}

Pattern is_scalar(double value) {
  PatternNode n;
  n.kind = PatternKind::kScalar;
  n.scalar = value;
  return make(std::move(n));
}

Pattern is_var(std::string name) {
  PatternNode n;
  n.kind = PatternKind::kVar;
  n.name = std::move(name);
  return make(std::move(n));
}

Pattern is_op(std::string name, std::vector<Pattern> args, std::string capture) {
  PatternNode n;
  n.kind = PatternKind::kOp;
  n.name = std::move(name);
  n.children = std::move(args);
  n.capture = std::move(capture);
  return make(std::move(n));
}

Pattern is_op_any_args(std::string name, std::string capture) {
  PatternNode n;
  n.kind = PatternKind::kOpAnyArgs;
  n.name = std::move(name);
  n.capture = std::move(capture);
  return make(std::move(n));
}

Pattern is_tuple(std::vector<Pattern> fields) {
  PatternNode n;
  n.kind = PatternKind::kTuple;
  n.children = std::move(fields);
  return make(std::move(n));
}

Pattern is_project(Pattern tuple, int index) {
  PatternNode n;
  n.kind = PatternKind::kProject;
  n.index = index;
  n.children = {std::move(tuple)};
  return make(std::move(n));
}

NodeId Match::find(std::string_view capture) const {
  const auto it = captures.find(std::string(capture));
  return it != captures.end() ? it->second : NodeId();
}

}  // namespace tessera::relay
