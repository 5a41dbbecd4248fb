// SPDX-License-Identifier: Apache-2.0
// The matcher: relay-style, without backtracking into an alternative that has matched.
#include <algorithm>
#include <unordered_set>

#include "constants/pool.h"
#include "relay/pattern.h"
#include "relay/pattern_node.h"

namespace tessera::relay {

namespace {

class Matcher {
 public:
  Matcher(const Function& f, const ConstantPool* pool) : f_(f), pool_(pool) {}

  bool matches(const Pattern& pattern, NodeId id) {
    const PatternNode& p = *pattern.get();
    for (const Step& step : steps_) {
      if (step.pattern == &p) return step.node == id;
    }
    const std::size_t mark = steps_.size();
    if (matches_new(p, id)) {
      steps_.push_back({&p, id});
      return true;
    }
    steps_.resize(mark);
    return false;
  }

  Match result(NodeId root) const {
    Match m;
    m.function = &f_;
    m.pool = pool_;
    m.root = root;
    for (const Step& step : steps_) {
      if (is_embedded(*step.pattern)) m.inside.push_back(step.node);
      if (!step.pattern->capture.empty()) m.captures.emplace(step.pattern->capture, step.node);
    }
    std::sort(m.inside.begin(), m.inside.end());
    m.inside.erase(std::unique(m.inside.begin(), m.inside.end()), m.inside.end());
    for (const Step& step : steps_) add_inputs(step, m);
    return m;
  }

 private:
  // What has matched so far, in pattern order (children first). Also the memo: a pattern object
  // that is met again must match the same node.
  struct Step {
    const PatternNode* pattern;
    NodeId node;
  };

  static bool is_embedded(const PatternNode& p) {
    switch (p.kind) {
      case PatternKind::kConstant:
      case PatternKind::kScalar:
      case PatternKind::kOp:
      case PatternKind::kOpAnyArgs:
      case PatternKind::kTuple:
      case PatternKind::kProject:
        return true;
      case PatternKind::kWildcard:
      case PatternKind::kVar:
      case PatternKind::kEither:
      case PatternKind::kAttr:
      case PatternKind::kDtype:
      case PatternKind::kShape:
        break;
    }
    return false;
  }

  void add_inputs(const Step& step, Match& m) const {
    const auto add = [&](NodeId id) {
      if (std::binary_search(m.inside.begin(), m.inside.end(), id)) return;
      if (std::find(m.inputs.begin(), m.inputs.end(), id) == m.inputs.end()) m.inputs.push_back(id);
    };
    const PatternKind kind = step.pattern->kind;
    if (kind == PatternKind::kWildcard || kind == PatternKind::kVar) add(step.node);
    if (kind == PatternKind::kOpAnyArgs) {
      for (NodeId operand : f_.operands(step.node)) add(operand);
    }
  }

  bool matches_new(const PatternNode& p, NodeId id) {
    switch (p.kind) {
      case PatternKind::kWildcard:
        return true;
      case PatternKind::kConstant:
        return f_.as<Constant>(id) != nullptr;
      case PatternKind::kScalar:
        return is_scalar_of(p.scalar, id);
      case PatternKind::kVar:
        return is_var_of(p.name, id);
      case PatternKind::kOp:
        return matches_call(p, id);
      case PatternKind::kOpAnyArgs:
        return is_call_of(p.name, id);
      case PatternKind::kTuple:
        return f_.as<Tuple>(id) != nullptr && matches_all(p.children, id, false);
      case PatternKind::kProject:
        return matches_project(p, id);
      case PatternKind::kEither:
        return matches(p.children[0], id) || matches(p.children[1], id);
      case PatternKind::kAttr:
        return matches(p.children[0], id) && has_attr(p, id);
      case PatternKind::kDtype:
        return matches(p.children[0], id) && has_dtype(p.dtype, id);
      case PatternKind::kShape:
        return matches(p.children[0], id) && has_shape(p.shape, id);
    }
    return false;
  }

  bool is_call_of(const std::string& name, NodeId id) const {
    const Operator* op = f_.op(id);
    return op != nullptr && op->name == name;
  }

  bool matches_call(const PatternNode& p, NodeId id) {
    if (!is_call_of(p.name, id)) return false;
    if (matches_all(p.children, id, false)) return true;
    const bool commutes = (p.name == "add" || p.name == "multiply") && p.children.size() == 2;
    return commutes && matches_all(p.children, id, true);
  }

  bool matches_all(const std::vector<Pattern>& patterns, NodeId id, bool reversed) {
    const auto operands = f_.operands(id);
    if (operands.size() != patterns.size()) return false;
    const std::size_t mark = steps_.size();
    for (std::size_t i = 0; i < patterns.size(); ++i) {
      const NodeId operand = operands[reversed ? operands.size() - 1 - i : i];
      if (!matches(patterns[i], operand)) {
        steps_.resize(mark);
        return false;
      }
    }
    return true;
  }

  bool matches_project(const PatternNode& p, NodeId id) {
    const Project* project = f_.as<Project>(id);
    if (project == nullptr || (p.index >= 0 && p.index != project->index)) return false;
    return matches(p.children[0], f_.operands(id)[0]);
  }

  bool is_var_of(const std::string& name, NodeId id) const {
    const Param* param = f_.as<Param>(id);
    const Let* let = f_.as<Let>(id);
    if (param == nullptr && let == nullptr) return false;
    return name.empty() || name == (param != nullptr ? param->name : let->name);
  }

  const Tensor* tensor(NodeId id) const {
    const Constant* c = f_.as<Constant>(id);
    if (c == nullptr) return nullptr;
    if (const auto* t = std::get_if<Tensor>(&c->value)) return t;
    return pool_ != nullptr ? &pool_->resolve(c->value) : nullptr;
  }

  bool is_scalar_of(double value, NodeId id) const {
    const Tensor* t = tensor(id);
    if (t == nullptr || t->num_elements() != 1) return false;
    const double rounded =
        element_as_double(tensor_from_doubles({}, t->dtype, std::span<const double>(&value, 1)), 0);
    return element_as_double(*t, 0) == (t->dtype.is_float() ? rounded : value);
  }

  // The attribute as the operator sees it: what is not given has its default.
  const AttrValue* attribute(const std::string& name, NodeId id) const {
    if (const OpCall* call = f_.as<OpCall>(id)) {
      if (const AttrValue* given = call->attrs.find(name)) return given;
      const AttrField* field = call->op->attrs().find(name);
      return field != nullptr ? &field->default_value : nullptr;
    }
    if (const ValueCall* call = f_.as<ValueCall>(id)) return call->attrs.find(name);
    const Literal* literal = f_.as<Literal>(id);
    return literal != nullptr ? literal->attrs.find(name) : nullptr;
  }

  bool has_attr(const PatternNode& p, NodeId id) const {
    const AttrValue* found = attribute(p.name, id);
    if (found == nullptr) return false;
    const auto* real = found->as<double>();
    const auto* whole = p.value.as<std::int64_t>();
    if (real != nullptr && whole != nullptr) return *real == static_cast<double>(*whole);
    return *found == p.value;
  }

  Type type(NodeId id) const {
    if (f_.type(id)) return f_.type(id);
    const Tensor* t = tensor(id);
    return t != nullptr ? t->type() : Type();
  }
  bool has_dtype(DType dtype, NodeId id) const {
    const Type t = type(id);
    return t && t.is_tensor() && t.dtype() == dtype;
  }
  bool has_shape(const Shape& shape, NodeId id) const {
    const Type t = type(id);
    return t && t.is_tensor() && t.shape() == shape;
  }

  const Function& f_;
  const ConstantPool* pool_;
  std::vector<Step> steps_;
};

}  // namespace

std::optional<Match> match(const Function& f, const Pattern& pattern, NodeId root,
                           const ConstantPool* pool) {
  Matcher matcher(f, pool);
  if (!matcher.matches(pattern, root)) return std::nullopt;
  return matcher.result(root);
}

}  // namespace tessera::relay
