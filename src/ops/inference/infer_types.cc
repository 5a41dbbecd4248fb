// SPDX-License-Identifier: Apache-2.0
#include "ops/inference/infer_types.h"

#include <algorithm>
#include <optional>

#include "ops/evaluation/size_values.h"
#include "ops/inference/infer.h"
#include "ops/inference/type_agreement.h"
#include "relay/evaluation_order.h"
#include "relay/operator.h"

namespace tessera::ops {
namespace {

using relay::Function;
using relay::NodeId;
using relay::NodeKind;

// Sizes that no memory holds: negative, or more elements than 64 bits count.
bool is_countable(const Type& type) {
  for (const Type& t : flatten(type)) {
    std::int64_t total = t.dtype().size_bytes();
    for (const Dim& d : t.shape()) {
      if (!d.is_constant()) continue;
      if (d.constant() < 0) return false;
      if (__builtin_mul_overflow(total, std::max<std::int64_t>(d.constant(), 1), &total))
        return false;
    }
  }
  return true;
}

// Arithmetic of sizes gives `?` where it overflows: known sizes in, unknown ones out, though no
// data matter, and no definition says how large the result is.
bool has_overflown(const relay::Operator& op, std::span<const Type> operands, const Type& result) {
  if (op.shape != nullptr) return false;
  for (relay::ShapeNeed need : op.shape_need) {
    if (need == relay::ShapeNeed::kData) return false;
  }
  return is_dynamic(result) && std::none_of(operands.begin(), operands.end(), is_dynamic);
}

// Types of nodes in order, again as long as calls tell literals what their parameters are.
class Inference {
 public:
  Inference(Function& f, const InferContext& context, bool is_partial = false)
      : f_(f),
        context_(context),
        is_partial_(is_partial),
        states_(f.num_nodes(), State::kWaiting),
        sizes_(f.num_nodes()) {
    for (std::size_t i = 0; i < f.num_nodes(); ++i) sources_.emplace_back(i);
  }

  Diagnostics run() {
    do {
      progress_ = false;
      for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
        if (states_[i] == State::kWaiting) visit(NodeId(i));
      }
    } while (progress_);
    check_result();
    if (findings_.empty()) report_waiting();
    return std::move(findings_);
  }

 private:
  // Failed nodes have been reported, or use one that has.
  enum class State : std::uint8_t { kWaiting, kKnown, kFailed };

  State state(NodeId id) const { return states_[id.index()]; }
  void know(NodeId id, Type type) {
    for (const Type& t : flatten(type)) {
      if (t.rank() <= static_cast<std::size_t>(kMostDimensions)) continue;
      return fail_at(id, error(Code::kBadDimension, f_[id].location,
                               "a tensor has {} dimensions; {} are the most that a tensor has",
                               t.rank(), kMostDimensions));
    }
    states_[id.index()] = State::kKnown;
    f_.set_type(id, std::move(type));
  }
  void fail_at(NodeId id, Diagnostics why) {
    states_[id.index()] = State::kFailed;
    findings_.add(std::move(why));
  }
  // The worst of what the node needs; failure passes on in silence.
  State needs(NodeId id, std::span<const NodeId> others) {
    State worst = State::kKnown;
    for (NodeId o : others) {
      if (state(o) == State::kFailed) states_[id.index()] = worst = State::kFailed;
      if (state(o) == State::kWaiting && worst == State::kKnown) worst = State::kWaiting;
    }
    return worst;
  }

  void visit(NodeId id) {
    if (f_[id].kind() == NodeKind::kValueCall) tell_literal(id);
    if (needs(id, f_.operands(id)) != State::kKnown) return;
    switch (f_[id].kind()) {
      case NodeKind::kParam:
        if (const Type& t = f_.as<relay::Param>(id)->annotation) know(id, t);
        return;
      case NodeKind::kConstant:
        return visit_constant(id);
      case NodeKind::kOpCall:
        return visit_op_call(id);
      case NodeKind::kValueCall:
        return visit_value_call(id);
      case NodeKind::kTuple:
        return know(id, tuple_type(operand_types(id)));
      case NodeKind::kProject:
        return visit_project(id);
      case NodeKind::kIf:
        return visit_if(id);
      case NodeKind::kLiteral:
        return visit_literal(id);
      case NodeKind::kLet:
        return visit_let(id);
      case NodeKind::kGlobalRef:
        return visit_global(id);
    }
  }

  std::vector<Type> operand_types(NodeId id) const {
    std::vector<Type> types;
    for (NodeId o : f_.operands(id)) types.push_back(f_.type(o));
    return types;
  }
  // Where a value is made that others only pass on: names, marks, and fields of tuples in sight.
  NodeId source(NodeId id) const { return sources_[id.index()]; }
  const Tensor* constant_of(NodeId id) const {
    const auto* c = f_.as<relay::Constant>(source(id));
    if (c == nullptr) return nullptr;
    if (const auto* t = std::get_if<Tensor>(&c->value)) return t;
    return context_.constants != nullptr ? &context_.constants->resolve(c->value) : nullptr;
  }

  void visit_constant(NodeId id) {
    const Tensor* t = constant_of(id);
    if (t != nullptr) {
      sizes_[id.index()] = size_values(*t);
      return know(id, t->type());
    }
    TESSERA_CHECK(f_.type(id), "a constant of a pool that inference does not know");
    know(id, f_.type(id));
  }

  void visit_op_call(NodeId id) {
    const auto& call = *f_.as<relay::OpCall>(id);
    const std::vector<Type> types = operand_types(id);
    if (auto finding = wrong_operands(*call.op, types, f_[id].location)) {
      return fail_at(id, std::move(*finding));
    }
    std::vector<const Tensor*> values;
    for (NodeId o : f_.operands(id)) values.push_back(constant_of(o));
    TESSERA_CHECK(call.op->infer != nullptr, "`{}` has no inference", call.op->name);
    std::vector<const Shape*> sizes;
    for (NodeId o : f_.operands(id)) sizes.push_back(sizes_of(o));
    Result<Type> type =
        call.op->infer({types, values, call.attrs, f_[id].location, call.op->name, sizes});
    if (!type) return fail_at(id, std::move(type).error());
    if (!is_countable(*type) || has_overflown(*call.op, types, *type)) {
      return fail_at(id, error(Code::kBadDimension, f_[id].location,
                               "the result of `{}` would be {}: sizes are not negative, and their "
                               "product fits 64 bits",
                               call.op->name, to_string(*type))
                             .with_remedy("correct the sizes in its attributes and operands"));
    }
    if (is_mark(*call.op)) {
      sources_[id.index()] = source(f_.operands(id)[0]);
    } else {
      find_sizes(id, *type);
    }
    know(id, std::move(type).value());
  }

  // The elements of a node as sizes.
  const Shape* sizes_of(NodeId id) const {
    const auto& found = sizes_[source(id).index()];
    return found ? &*found : nullptr;
  }
  void find_sizes(NodeId id, const Type& result) {
    std::vector<SizeOperand> operands;
    for (NodeId o : f_.operands(id)) {
      if (f_.as<relay::Tuple>(source(o)) == nullptr) {
        operands.push_back({f_.type(o), sizes_of(o)});
        continue;
      }
      for (NodeId field : f_.operands(source(o)))
        operands.push_back({f_.type(field), sizes_of(field)});
    }
    const auto& call = *f_.as<relay::OpCall>(id);
    sizes_[id.index()] = size_values(*call.op, call.attrs, operands, result);
  }

  // Parameters of a called literal that have no annotation take the arguments' types.
  void tell_literal(NodeId call) {
    const NodeId callee = relay::behind_lets(f_, f_.operands(call)[0]);
    const auto* literal = f_.as<relay::Literal>(callee);
    if (literal == nullptr || state(callee) != State::kWaiting) return;
    const std::vector<NodeId>& params = f_.region(literal->body).params;
    const auto args = f_.operands(call).subspan(1);
    std::optional<NodeId> first;
    for (std::size_t i = 0; i < std::min(params.size(), args.size()); ++i) {
      if (state(params[i]) != State::kWaiting || state(args[i]) != State::kKnown) continue;
      f_.set_annotation(params[i], f_.type(args[i]));
      know(params[i], f_.type(args[i]));
      if (!first) first = params[i];
      progress_ = true;
    }
    if (first) visit_told(f_.operands(call)[0], callee, *first);
  }

  // A literal's body from its first parameter on, the literal, and the names between it and its
  // call: if they waited for the next round, a chain of calls would take a round each.
  void visit_told(NodeId called, NodeId literal, NodeId first) {
    for (std::size_t i = first.index(); i <= literal.index(); ++i) {
      if (states_[i] == State::kWaiting) visit(NodeId(i));
    }
    std::vector<NodeId> names;
    for (NodeId at = called; at != literal; at = f_.operands(at)[0]) names.push_back(at);
    for (std::size_t i = names.size(); i-- > 0;) {
      if (state(names[i]) == State::kWaiting) visit(names[i]);
    }
  }

  void visit_value_call(NodeId id) {
    const std::vector<Type> types = operand_types(id);
    const Location& at = f_[id].location;
    const std::string callee = callee_text(f_.operands(id)[0]);
    if (!types[0].is_function()) {
      return fail_at(id, error(Code::kTypeMismatch, at, "{} is called and has type {}, no function",
                               callee, to_string(types[0])));
    }
    const std::vector<Type>& params = types[0].params();
    if (params.size() + 1 != types.size()) {
      return fail_at(id, error(Code::kWrongArity, at, "{} takes {} arguments, found {}", callee,
                               params.size(), types.size() - 1));
    }
    for (std::size_t i = 0; i < params.size(); ++i) {
      if (is_compatible(params[i], types[i + 1])) continue;
      return fail_at(id, error(Code::kTypeMismatch, at,
                               "argument {} of {} has type {}, the parameter has type {}", i + 1,
                               callee, to_string(types[i + 1]), to_string(params[i])));
    }
    know(id, types[0].result());
  }
  std::string callee_text(NodeId callee) const {
    const auto* global = f_.as<relay::GlobalRef>(callee);
    return global != nullptr ? fmt::format("`@{}`", global->name) : std::string("the function");
  }

  void visit_project(NodeId id) {
    const Type& tuple = f_.type(f_.operands(id)[0]);
    const int index = f_.as<relay::Project>(id)->index;
    const auto place = static_cast<std::size_t>(index);
    if (tuple.is_tuple() && index >= 0 && place < tuple.fields().size()) {
      const NodeId made = source(f_.operands(id)[0]);
      if (f_.as<relay::Tuple>(made) != nullptr) {
        sources_[id.index()] = source(f_.operands(made)[place]);
      }
      return know(id, tuple.fields()[place]);
    }
    fail_at(id, error(Code::kTypeMismatch, f_[id].location,
                      "there is no field {} in a value of type {}", index, to_string(tuple)));
  }

  void visit_if(NodeId id) {
    const auto& branches = *f_.as<relay::If>(id);
    const NodeId results[] = {f_.region(branches.then_region).result,
                              f_.region(branches.else_region).result};
    if (is_partial_ &&
        (state(results[0]) == State::kKnown) != (state(results[1]) == State::kKnown)) {
      return know(id, f_.type(results[state(results[0]) == State::kKnown ? 0 : 1]));
    }
    if (needs(id, results) != State::kKnown) return;
    const Type& condition = f_.type(f_.operands(id)[0]);
    if (!(condition == tensor_type({}, kBool))) {
      return fail_at(
          id, error(Code::kTypeMismatch, f_[id].location,
                    "the condition of `if` has type {}, it must be bool", to_string(condition)));
    }
    const Type &yes = f_.type(results[0]), &no = f_.type(results[1]);
    if (!is_compatible(yes, no)) {
      return fail_at(id, error(Code::kTypeMismatch, f_[id].location,
                               "the branches of `if` have different types: {} and {}",
                               to_string(yes), to_string(no)));
    }
    know(id, common_type(yes, no));
  }

  void visit_literal(NodeId id) {
    const auto& literal = *f_.as<relay::Literal>(id);
    const relay::Region& body = f_.region(literal.body);
    if (needs(id, body.params) != State::kKnown) return;
    if (needs(id, std::span(&body.result, 1)) != State::kKnown) return;
    std::vector<Type> params;
    for (NodeId p : body.params) params.push_back(f_.type(p));
    const Type& found = f_.type(body.result);
    if (literal.result_annotation && !is_compatible(literal.result_annotation, found)) {
      return fail_at(id, annotation_error(f_[id].location, "the function's result",
                                          literal.result_annotation, found));
    }
    Type result = refined_type(literal.result_annotation, found);
    f_.set_annotation(id, result);
    know(id, function_type(std::move(params), std::move(result)));
  }

  void visit_let(NodeId id) {
    const auto& let = *f_.as<relay::Let>(id);
    const Type& found = f_.type(f_.operands(id)[0]);
    if (let.annotation && !is_compatible(let.annotation, found)) {
      return fail_at(id, annotation_error(f_[id].location, fmt::format("`%{}`", let.name),
                                          let.annotation, found));
    }
    if (!let.annotation) f_.set_annotation(id, found);
    sources_[id.index()] = source(f_.operands(id)[0]);
    know(id, refined_type(let.annotation, found));
  }

  void visit_global(NodeId id) {
    const std::string& name = f_.as<relay::GlobalRef>(id)->name;
    if (context_.globals != nullptr) {
      if (auto it = context_.globals->find(name); it != context_.globals->end()) {
        return know(id, it->second);
      }
    }
    if (is_partial_) return;
    if (f_.type(id)) return know(id, f_.type(id));
    fail_at(id, error(Code::kUnknownName, f_[id].location, "there is no function `@{}`", name));
  }

  static Diagnostic annotation_error(const Location& at, std::string_view what, const Type& wanted,
                                     const Type& found) {
    return error(Code::kTypeMismatch, at, "{} is annotated as {} and has type {}", what,
                 to_string(wanted), to_string(found));
  }

  void check_result() {
    const NodeId result = f_.result();
    if (state(result) != State::kKnown) return;
    const Type& found = f_.type(result);
    if (f_.result_annotation && !is_compatible(f_.result_annotation, found)) {
      findings_.add(annotation_error(f_.location ? f_.location : f_[result].location,
                                     "the function's result", f_.result_annotation, found));
      return;
    }
    // Callers hold an external function to what it declares: its body only tells sizes.
    const bool declares = f_.result_annotation && f_.attrs.int_or_zero("Extern") != 0;
    if (!declares) f_.result_annotation = refined_type(f_.result_annotation, found);
  }

  // Whatever still waits, waits for parameters without annotation.
  void report_waiting() {
    for (std::size_t i = 0; i < f_.num_nodes(); ++i) {
      const auto* param = f_.as<relay::Param>(NodeId(i));
      if (param == nullptr || states_[i] != State::kWaiting) continue;
      findings_.add(
          error(Code::kTypeMismatch, f_[NodeId(i)].location,
                "the type of parameter `%{}` is not known", param->name)
              .with_remedy("annotate it: `%" + param->name + ": Tensor[(2, 3), float32]`"));
    }
  }

  Function& f_;
  const InferContext& context_;
  const bool is_partial_;
  std::vector<State> states_;
  std::vector<std::optional<Shape>> sizes_;
  std::vector<NodeId> sources_;
  Diagnostics findings_;
  bool progress_ = false;
};

}  // namespace

Function infer_known_types(Function function, const InferContext& context) {
  for (std::size_t i = 0; i < function.num_nodes(); ++i) function.set_type(NodeId(i), {});
  Inference(function, context, true).run();
  return function;
}

Result<Function> infer_types(Function function, const InferContext& context) {
  Diagnostics findings = Inference(function, context).run();
  if (!findings.empty()) return fail(std::move(findings));
  return function;
}

}  // namespace tessera::ops
