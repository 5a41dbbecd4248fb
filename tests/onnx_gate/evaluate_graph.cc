// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx_gate/evaluate_graph.h"

#include <algorithm>

#include "ops/evaluation/evaluate_function.h"

namespace tessera::onnx_gate {
namespace {

using Tensors = std::vector<Tensor>;

// Sizes that the model leaves open are as they come.
bool is_of(const Tensor& input, const Type& type) {
  return input.dtype == type.dtype() && input.shape.size() == type.rank() &&
         std::equal(input.shape.begin(), input.shape.end(), type.shape().begin(),
                    [](std::int64_t n, const Dim& d) { return !d.is_constant() || d == Dim(n); });
}

Result<void> check(const relay::Function& main, const Tensors& inputs) {
  if (inputs.size() != main.params().size()) {
    return fail(
        error(Code::kBadInput, {}, "{} inputs instead of {}", inputs.size(), main.params().size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const relay::NodeId param = main.params()[i];
    if (is_of(inputs[i], main.type(param))) continue;
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
