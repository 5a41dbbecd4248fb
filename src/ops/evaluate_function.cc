// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluate_function.h"

#include "relay/operator.h"
#include "support/check.h"

namespace tessera::ops {
namespace {

using relay::NodeId;
using relay::RegionId;
using Tensors = std::vector<Tensor>;
using EnterGlobal = std::function<Tensors(const std::string&, std::span<const Tensor>)>;

// One activation of a function. A region's nodes are evaluated in their order when it is entered,
// those of the regions within it when these are; the depth of the stack is that of regions.
class Activation {
 public:
  Activation(const relay::Function& f, const ConstantPool& constants, const EnterGlobal& global)
      : f_(f), constants_(constants), global_(global), values_(f.num_nodes()) {
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
      if (f_.as<relay::Param>(node) == nullptr) values_[node.index()] = value(node);
    }
    return values_[region.result.index()];
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
      case relay::NodeKind::kIf: {
        const auto& branch = *f_.as<relay::If>(id);
        const Tensors condition = tensors_of(f_.operands(id).first(1));
        const bool taken = element_as_int(condition.at(0), 0) != 0;
        return run(taken ? branch.then_region : branch.else_region, {});
      }
      default:
        return {};  // a function: it has a value where it is called
    }
  }

  Tensors call_operator(NodeId id) const {
    const auto& call = *f_.as<relay::OpCall>(id);
    const Tensors operands = tensors_of(f_.operands(id));
    TESSERA_CHECK(call.op->eval != nullptr, "`{}` has no reference evaluation", call.op->name);
    return call.op->eval({operands, call.attrs, f_.type(id)});
  }

  Tensors call_value(NodeId id) {
    const Tensors arguments = tensors_of(f_.operands(id).subspan(1));
    NodeId callee = f_.operands(id)[0];
    while (f_.as<relay::Let>(callee) != nullptr) callee = f_.operands(callee)[0];
    if (const auto* global = f_.as<relay::GlobalRef>(callee)) {
      return global_(global->name, arguments);
    }
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
  std::vector<Tensors> values_;
  std::vector<std::vector<NodeId>> nodes_;  // by region
};

}  // namespace

std::vector<Tensor> evaluate(const Module& module, const relay::Function& f,
                             std::span<const Tensor> inputs, const GlobalCall& call) {
  const EnterGlobal enter = [&](const std::string& symbol, std::span<const Tensor> arguments) {
    if (call) {
      if (auto results = call(symbol, arguments)) return *std::move(results);
    }
    return evaluate(module, module.functions.at(symbol), arguments, call);
  };
  return Activation(f, module.constants, enter).run(relay::Function::kBody, inputs);
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
