// SPDX-License-Identifier: Apache-2.0
#include "relay/patterns/pattern.h"

#include <algorithm>

#include "relay/patterns/pattern_node.h"

namespace tessera::relay {

namespace {

Pattern make(PatternNode node) {
  for (const Pattern& child : node.children) {
    TESSERA_CHECK(child, "a pattern is built of an empty one");
    node.depth = std::max(node.depth, child.get()->depth + 1);
  }
  return Pattern(std::make_shared<PatternNode>(std::move(node)));
}

Pattern make(PatternKind kind, std::vector<Pattern> children) {
  PatternNode n;
  n.kind = kind;
  n.children = std::move(children);
  return make(std::move(n));
}

Pattern make_named(PatternKind kind, std::string name) {
  PatternNode n;
  n.kind = kind;
  n.name = std::move(name);
  return make(std::move(n));
}

Pattern make_call(Pattern callee, std::vector<Pattern> args, bool any, std::string capture) {
  PatternNode n;
  n.kind = PatternKind::kCall;
  n.children = std::move(args);
  n.children.insert(n.children.begin(), std::move(callee));
  n.any = any;
  n.capture = std::move(capture);
  return make(std::move(n));
}

}  // namespace

Pattern Pattern::call(std::vector<Pattern> args, std::string capture) const {
  return make_call(*this, std::move(args), false, std::move(capture));
}

Pattern Pattern::call_any(std::string capture) const {
  return make_call(*this, {}, true, std::move(capture));
}

Pattern Pattern::operator|(const Pattern& other) const {
  return make(PatternKind::kEither, {*this, other});
}

Pattern Pattern::optional(const std::function<Pattern(Pattern)>& f) const {
  return f(*this) | *this;
}

Pattern Pattern::has_attr(std::string name, AttrValue value) const {
  Attrs attrs;
  attrs.set(std::move(name), std::move(value));
  return has_attrs(std::move(attrs));
}

Pattern Pattern::has_attrs(Attrs attrs) const {
  PatternNode n;
  n.kind = PatternKind::kAttr;
  n.attrs = std::move(attrs);
  n.children = {*this};
  return make(std::move(n));
}

Pattern Pattern::has_type(Type type) const {
  PatternNode n;
  n.kind = PatternKind::kType;
  n.type = std::move(type);
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

Pattern is_var(std::string name) { return make_named(PatternKind::kVar, std::move(name)); }
Pattern is_operator(std::string name) {
  return make_named(PatternKind::kOperator, std::move(name));
}
Pattern is_global(std::string name) { return make_named(PatternKind::kGlobal, std::move(name)); }

Pattern is_expr(Function expr) {
  PatternNode n;
  n.kind = PatternKind::kExpr;
  n.expr = std::make_shared<const Function>(std::move(expr));
  return make(std::move(n));
}

Pattern is_op(std::string name, std::vector<Pattern> args, std::string capture) {
  return is_operator(std::move(name)).call(std::move(args), std::move(capture));
}

Pattern is_op_any_args(std::string name, std::string capture) {
  return is_operator(std::move(name)).call_any(std::move(capture));
}

Pattern is_function(std::optional<std::vector<Pattern>> params, Pattern body) {
  PatternNode n;
  n.kind = PatternKind::kFunction;
  n.any = !params;
  if (params) n.children = std::move(*params);
  n.children.push_back(std::move(body));
  return make(std::move(n));
}

Pattern is_if(Pattern condition, Pattern then_value, Pattern else_value) {
  return make(PatternKind::kIf,
              {std::move(condition), std::move(then_value), std::move(else_value)});
}

Pattern is_let(Pattern variable, Pattern value, Pattern body) {
  return make(PatternKind::kLet, {std::move(variable), std::move(value), std::move(body)});
}

Pattern is_tuple(std::vector<Pattern> fields) {
  return make(PatternKind::kTuple, std::move(fields));
}

Pattern is_any_tuple() {
  PatternNode n;
  n.kind = PatternKind::kTuple;
  n.any = true;
  return make(std::move(n));
}

Pattern is_project(Pattern tuple, int index) {
  PatternNode n;
  n.kind = PatternKind::kProject;
  n.index = index;
  n.children = {std::move(tuple)};
  return make(std::move(n));
}

Pattern dominates(Pattern parent, Pattern path, Pattern child) {
  return make(PatternKind::kDominator, {std::move(parent), std::move(path), std::move(child)});
}

NodeId Match::find(std::string_view capture) const {
  const auto it = captures.find(std::string(capture));
  return it != captures.end() ? it->second : NodeId();
}

}  // namespace tessera::relay
