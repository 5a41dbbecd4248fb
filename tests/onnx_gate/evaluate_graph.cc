// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/evaluate_graph.h"

#include "relay/operator.h"
#include "support/check.h"

namespace tessera::onnx_gate {
namespace {

using relay::NodeId;
using Tensors = std::vector<Tensor>;

class Evaluation {
 public:
  explicit Evaluation(const Module& module)
      : module_(module), main_(module.functions.at("main")), values_(main_.num_nodes()) {}

  Result<Tensors> run(const Tensors& inputs) {
    TESSERA_TRY_VOID(bind(inputs));
    for (std::uint32_t i = 0; i < main_.num_nodes(); ++i) evaluate(NodeId(i));
    return values_[main_.result().index()];
  }

 private:
  Result<void> bind(const Tensors& inputs) {
    if (inputs.size() != main_.params().size()) {
      return fail(error(Code::kBadInput, {}, "{} inputs instead of {}", inputs.size(),
                        main_.params().size()));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId param = main_.params()[i];
      if (!(inputs[i].type() == main_.type(param))) {
        return fail(error(Code::kBadInput, {}, "input `{}` is {} instead of {}",
                          main_.as<relay::Param>(param)->name, to_string(inputs[i].type()),
                          to_string(main_.type(param))));
      }
      values_[param.index()] = {inputs[i]};
    }
    return {};
  }

  void evaluate(NodeId id) {
    Tensors& value = values_[id.index()];
    if (const auto* constant = main_.as<relay::Constant>(id)) {
      value = {module_.constants.resolve(constant->value)};
    } else if (const auto* call = main_.as<relay::OpCall>(id)) {
      const Tensors args = operands(id);
      TESSERA_CHECK(call->op->eval != nullptr, "`{}` has no eval", call->op->name);
      value = call->op->eval({args, call->attrs, main_.type(id)});
    } else if (main_.as<relay::Tuple>(id) != nullptr) {
      value = operands(id);
    } else if (const auto* project = main_.as<relay::Project>(id)) {
      value = {values_[main_.operands(id)[0].index()].at(static_cast<std::size_t>(project->index))};
    } else {
      TESSERA_CHECK(main_.as<relay::Param>(id) != nullptr, "a node that the importer never makes");
    }
  }

  Tensors operands(NodeId id) const {
    Tensors all;
    for (const NodeId o : main_.operands(id)) {
      const Tensors& v = values_[o.index()];
      all.insert(all.end(), v.begin(), v.end());
    }
    return all;
  }

  const Module& module_;
  const relay::Function& main_;
  std::vector<Tensors> values_;
};

}  // namespace

Result<Tensors> evaluate_graph(const Module& module, const Tensors& inputs) {
  return Evaluation(module).run(inputs);
}

}  // namespace tessera::onnx_gate
