// SPDX-License-Identifier: Apache-2.0
// Optimisers of ai.onnx.preview.training: the rate R, the step T, then the tensors X1, X2, ...,
// their gradients, and one or two lists of state.
#include "import/converters.h"
#include "import/value.h"

namespace tessera::import {
namespace {

// Kind k of the tensors, for variable i.
Value of(Node& n, std::size_t variables, std::size_t k, std::size_t i) {
  return input(n, 2 + k * variables + i);
}

// `update` gives the new X and states of a variable; results are all X, then all of each state.
template <class Update>
std::vector<NodeId> each_variable(Node& n, std::size_t states, Update update) {
  const std::size_t variables = (n.num_inputs() - 2) / (2 + states);
  std::vector<NodeId> results((1 + states) * variables);
  for (std::size_t i = 0; i < variables; ++i) {
    const std::vector<Value> fresh = update([&](std::size_t k) { return of(n, variables, k, i); });
    for (std::size_t k = 0; k < fresh.size(); ++k) results[k * variables + i] = fresh[k];
  }
  return results;
}

std::vector<NodeId> convert_adagrad(Node& n) {
  const Value rate = input(n, 0), step = input(n, 1);
  const double decay = n.float_attr("decay_factor", 0), epsilon = n.float_attr("epsilon", 1e-6);
  const double norm = n.float_attr("norm_coefficient", 0);
  const Value now = rate / (step.cast(rate.dtype()) * decay + 1.0);
  return each_variable(n, 1, [&](auto tensor) -> std::vector<Value> {
    const Value x = tensor(0), gradient = x * norm + tensor(1);
    const Value squares = tensor(2) + gradient * gradient;
    return {x - now * gradient / (squares.apply("sqrt") + epsilon), squares};
  });
}

std::vector<NodeId> convert_adam(Node& n) {
  const Value rate = input(n, 0), step = input(n, 1);
  const double alpha = n.float_attr("alpha", 0.9), beta = n.float_attr("beta", 0.999);
  const double epsilon = n.float_attr("epsilon", 1e-6);
  const double norm = n.float_attr("norm_coefficient", 0);
  const double after = 1 - n.float_attr("norm_coefficient_post", 0);
  const Value t = step.cast(rate.dtype());
  const Value corrected =
      rate * (1.0 - power(t.number(beta), t)).apply("sqrt") / (1.0 - power(t.number(alpha), t));
  const Value now = where(t > 0.0, corrected, rate);
  return each_variable(n, 2, [&](auto tensor) -> std::vector<Value> {
    const Value x = tensor(0), gradient = x * norm + tensor(1);
    const Value mean = tensor(2) * alpha + gradient * (1 - alpha);
    const Value squares = tensor(3) * beta + gradient * gradient * (1 - beta);
    return {(x - now * mean / (squares.apply("sqrt") + epsilon)) * after, mean, squares};
  });
}

std::vector<NodeId> convert_momentum(Node& n) {
  const Value rate = input(n, 0), step = input(n, 1);
  const double alpha = n.float_attr("alpha", 0), beta = n.float_attr("beta", 0);
  const double norm = n.float_attr("norm_coefficient", 0);
  const bool nesterov = n.string_attr("mode", "standard") == "nesterov";
  const Value weight = where(step > 0.0, rate.number(beta), rate.number(1));
  return each_variable(n, 1, [&](auto tensor) -> std::vector<Value> {
    const Value x = tensor(0), gradient = x * norm + tensor(1);
    const Value moment = tensor(2) * alpha + gradient * weight;
    return {x - rate * (nesterov ? gradient + moment * alpha : moment), moment};
  });
}

constexpr Converter kTrainingTable[] = {
    {"ai.onnx.preview.training.Adagrad", 1, convert_adagrad},
    {"ai.onnx.preview.training.Adam", 1, convert_adam},
    {"ai.onnx.preview.training.Momentum", 1, convert_momentum},
};

}  // namespace

extern const std::span<const Converter> training_converters;
const std::span<const Converter> training_converters = kTrainingTable;

}  // namespace tessera::import
