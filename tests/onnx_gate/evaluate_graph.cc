// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/evaluate_graph.h"

#include "ops/evaluation/evaluate_function.h"

namespace tessera::onnx_gate {
namespace {

using Tensors = std::vector<Tensor>;

Result<void> check(const relay::Function& main, const Tensors& inputs) {
  if (inputs.size() != main.params().size()) {
    return fail(
        error(Code::kBadInput, {}, "{} inputs instead of {}", inputs.size(), main.params().size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const relay::NodeId param = main.params()[i];
    if (inputs[i].type() == main.type(param)) continue;
    return fail(error(Code::kBadInput, {}, "input `{}` is {} instead of {}",
                      main.as<relay::Param>(param)->name, to_string(inputs[i].type()),
                      to_string(main.type(param))));
  }
  return {};
}

}  // namespace

Result<Tensors> evaluate_graph(const Module& module, const Tensors& inputs) {
  const relay::Function& main = module.functions.at("main");
  TESSERA_TRY_VOID(check(main, inputs));
  return ops::evaluate(module, main, inputs);
}

}  // namespace tessera::onnx_gate
