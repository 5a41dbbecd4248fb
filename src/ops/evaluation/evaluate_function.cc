// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate_function.h"

#include <algorithm>
#include <variant>

#include "ops/evaluation/evaluate_call.h"
#include "relay/evaluation_order.h"
#include "relay/operator.h"
#include "relay/rewrite.h"
#include "support/check.h"

namespace tessera::ops {
namespace {

using relay::NodeId;
using relay::RegionId;
using Tensors = std::vector<Tensor>;
using EnterGlobal = std::function<Tensors(const std::string&, std::span<const Tensor>)>;

// The call of a global whose result is the caller's: the caller need not wait for it.
struct TailCall {
  std::string symbol;
  Tensors arguments;
};

// One activation of a function. A region's nodes are evaluated in their order when it is entered,
// those of the regions within it when these are; the depth of the stack is that of regions.
class Activation {
 public:
  Activation(const relay::Function& f, const ConstantPool& constants, const EnterGlobal& global,
             const OperatorCall& told = {})
      : f_(f), constants_(constants), global_(global), told_(told), values_(f.num_nodes()) {
    nodes_.resize(f.num_regions());
    for (std::size_t i = 0; i < f.num_nodes(); ++i) {
      nodes_[f[NodeId(i)].region.index()].push_back(NodeId(i));
    }
  }

  Tensors run(RegionId id, std::span<const Tensor> arguments) {
    const relay::Region& region = f_.region(id);
    for (const NodeId param : region.params) {
      const std::size_t count = flatten(f_.type(param)).size();
      TESSERA_CHECK(count <= arguments.size(), "too few arguments");
      values_[param.index()].assign(arguments.begin(), arguments.begin() + count);
      arguments = arguments.subspan(count);
    }
    TESSERA_CHECK(arguments.empty(), "{} arguments too many", arguments.size());
    for (const NodeId node : nodes_[id.index()]) {
      if (kept_ && relay::behind_lets(f_, node) == kept_) continue;
      if (f_.as<relay::Param>(node) == nullptr) values_[node.index()] = value(node);
    }
    return values_[region.result.index()];
  }

  // The function's result, or the call of a global that gives it: loops are functions that call
  // themselves at their end, and go round more often than a stack is deep.
  std::variant<Tensors, TailCall> run_to_tail(std::span<const Tensor> arguments) {
    const relay::Uses uses(f_);
    RegionId region = relay::Function::kBody;
    for (;;) {
      const NodeId last = relay::behind_lets(f_, f_.region(region).result);
      const bool is_branch = f_.as<relay::If>(last) != nullptr;
      const std::string* symbol = called_global(last);
      const bool waits = f_[last].region == region && (is_branch || symbol != nullptr) &&
                         is_only_result(uses, last);
      kept_ = waits ? last : NodeId();
      Tensors results = run(region, arguments);
      if (!waits) return results;
      if (!is_branch) return TailCall{*symbol, tensors_of(f_.operands(last).subspan(1))};
      region = taken_branch(last);
      arguments = {};
    }
  }

 private:
  Tensors value(NodeId id) {
    switch (f_[id].kind()) {
      case relay::NodeKind::kConstant:
        return {constants_.resolve(f_.as<relay::Constant>(id)->value)};
      case relay::NodeKind::kOpCall:
        return call_operator(id);
      case relay::NodeKind::kValueCall:
        return call_value(id);
      case relay::NodeKind::kTuple:
      case relay::NodeKind::kLet:
        return tensors_of(f_.operands(id));
      case relay::NodeKind::kProject:
        return field(id);
      case relay::NodeKind::kIf:
        return run(taken_branch(id), {});
      default:
        return {};  // a function: it has a value where it is called
    }
  }

  // Does nobody but the end of a function or branch use it, under whatever names?
  bool is_only_result(const relay::Uses& uses, NodeId id) const {
    for (;;) {
      const auto users = uses.of(id);
      if (users.size() + (uses.is_result(id) ? 1 : 0) != 1) return false;
      if (users.empty() || f_.as<relay::Let>(users[0]) == nullptr) return true;
      id = users[0];
    }
  }

  RegionId taken_branch(NodeId id) const {
    const auto& branch = *f_.as<relay::If>(id);
    const Tensors condition = tensors_of(f_.operands(id).first(1));
    return element_as_int(condition.at(0), 0) != 0 ? branch.then_region : branch.else_region;
  }

  // The global that a call enters, or null.
  const std::string* called_global(NodeId call) const {
    if (f_.as<relay::ValueCall>(call) == nullptr) return nullptr;
    const NodeId callee = relay::behind_lets(f_, f_.operands(call)[0]);
    const auto* global = f_.as<relay::GlobalRef>(callee);
    return global != nullptr ? &global->name : nullptr;
  }

  Tensors call_operator(NodeId id) const {
    const auto& call = *f_.as<relay::OpCall>(id);
    const Tensors operands = tensors_of(f_.operands(id));
    Result<Tensors> results = evaluate_call(
        *call.op, {operands, call.attrs, has_open_sizes(id) ? actual_type(id) : f_.type(id)},
        f_[id].location);
    if (!results) throw CannotEvaluate(std::move(results).error());
    if (told_) told_(operands, *results);
    return *std::move(results);
  }

  // Those of operands, too: that they agree has not been seen yet.
  bool has_open_sizes(NodeId id) const {
    const auto is_open = [&](NodeId n) {
      const std::vector<Type> parts = flatten(f_.type(n));
      return std::any_of(parts.begin(), parts.end(), is_dynamic);
    };
    const auto operands = f_.operands(id);
    return is_open(id) || std::any_of(operands.begin(), operands.end(), is_open);
  }

  // The type of a result, now that all sizes are known.
  Type actual_type(NodeId id) const {
    const auto& call = *f_.as<relay::OpCall>(id);
    std::vector<Tensors> tensors;
    std::vector<Type> types;
    std::vector<const Tensor*> values;
    for (const NodeId operand : f_.operands(id)) {
      tensors.push_back(tensors_of({&operand, 1}));
      std::vector<Type> parts;
      for (const Tensor& t : tensors.back()) parts.push_back(t.type());
      types.push_back(f_.type(operand).is_tuple() ? tuple_type(parts) : parts.at(0));
    }
    for (std::size_t i = 0; i < types.size(); ++i) {
      values.push_back(types[i].is_tuple() ? nullptr : &tensors[i].front());
    }
    const auto type = call.op->infer({types, values, call.attrs, f_[id].location, call.op->name});
    if (!type) throw CannotEvaluate(type.error());
    return *type;
  }

  Tensors call_value(NodeId id) {
    const Tensors arguments = tensors_of(f_.operands(id).subspan(1));
    if (const std::string* global = called_global(id)) return global_(*global, arguments);
    const NodeId callee = relay::behind_lets(f_, f_.operands(id)[0]);
    const auto* literal = f_.as<relay::Literal>(callee);
    TESSERA_CHECK(literal != nullptr, "the callee of node {} is not known", id.index());
    return run(literal->body, arguments);
  }

  Tensors field(NodeId id) const {
    const NodeId tuple = f_.operands(id)[0];
    const auto index = static_cast<std::size_t>(f_.as<relay::Project>(id)->index);
    const auto& fields = f_.type(tuple).fields();
    std::size_t begin = 0;
    for (std::size_t i = 0; i < index; ++i) begin += flatten(fields[i]).size();
    const Tensors& all = values_[tuple.index()];
    const std::size_t end = begin + flatten(fields.at(index)).size();
    TESSERA_CHECK(end <= all.size(), "the tuple of node {} has too few tensors", id.index());
    return {all.begin() + static_cast<std::ptrdiff_t>(begin),
            all.begin() + static_cast<std::ptrdiff_t>(end)};
  }

  Tensors tensors_of(std::span<const NodeId> nodes) const {
    Tensors out;
    for (const NodeId n : nodes) {
      const Tensors& value = values_[n.index()];
      out.insert(out.end(), value.begin(), value.end());
    }
    return out;
  }

  const relay::Function& f_;
  const ConstantPool& constants_;
  const EnterGlobal& global_;
  const OperatorCall told_;
  std::vector<Tensors> values_;
  std::vector<std::vector<NodeId>> nodes_;  // by region
  NodeId kept_;                             // a region's result that run() leaves alone
};

}  // namespace

std::vector<Tensor> evaluate(const Module& module, const relay::Function& f,
                             std::span<const Tensor> inputs, const GlobalCall& call,
                             const OperatorCall& told) {
  const auto answer = [&](const std::string& symbol, std::span<const Tensor> arguments) {
    return call ? call(symbol, arguments) : std::nullopt;
  };
  const EnterGlobal enter = [&](const std::string& symbol, std::span<const Tensor> arguments) {
    if (auto results = answer(symbol, arguments)) return *std::move(results);
    return evaluate(module, module.functions.at(symbol), arguments, call, told);
  };
  const relay::Function* entered = &f;
  Tensors arguments(inputs.begin(), inputs.end());
  for (;;) {
    auto outcome = Activation(*entered, module.constants, enter, told).run_to_tail(arguments);
    if (auto* results = std::get_if<Tensors>(&outcome)) return std::move(*results);
    TailCall& next = std::get<TailCall>(outcome);
    if (auto results = answer(next.symbol, next.arguments)) return *std::move(results);
    entered = &module.functions.at(next.symbol);
    arguments = std::move(next.arguments);
  }
}

std::vector<Tensor> evaluate(const relay::Function& f, const ConstantPool& constants,
                             std::span<const Tensor> inputs) {
  const EnterGlobal none = [](const std::string& symbol, std::span<const Tensor>) -> Tensors {
    TESSERA_CHECK(false, "a call of the global `{}`", symbol);
    return {};
  };
  return Activation(f, constants, none).run(relay::Function::kBody, inputs);
}

}  // namespace tessera::ops
