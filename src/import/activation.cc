// SPDX-License-Identifier: Apache-2.0
#include "import/activation.h"

#include <algorithm>
#include <cctype>

namespace tessera::import {
namespace {

// An activation without parameters, and the operator that it is.
struct Plain {
  std::string_view name, op;
};
constexpr Plain kPlain[] = {{"tanh", "tanh"},
                            {"sigmoid", "sigmoid"},
                            {"relu", "nn.relu"},
                            {"softplus", "nn.softplus"},
                            {"softsign", "nn.softsign"},
                            {"hardswish", "nn.hard_swish"}};

// One whose only parameter is alpha.
struct Scaled {
  std::string_view name, op;
  double alpha;
};
constexpr Scaled kScaled[] = {{"leakyrelu", "nn.leaky_relu", 0.01},
                              {"thresholdedrelu", "nn.thresholded_relu", 1},
                              {"elu", "nn.elu", 1},
                              {"celu", "nn.celu", 1}};

std::string lower_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace

Value activate(Value x, const Activation& a) {
  const std::string name = lower_case(a.name);
  for (const Plain& p : kPlain) {
    if (name == p.name) return x.apply(p.op);
  }
  for (const Scaled& s : kScaled) {
    if (name == s.name) return x.apply(s.op, {{"alpha", a.alpha.value_or(s.alpha)}});
  }
  if (name == "affine") return x * a.alpha.value_or(1) + a.beta.value_or(0);
  if (name == "hardsigmoid") {
    return x.apply("nn.hard_sigmoid",
                   {{"alpha", a.alpha.value_or(0.2)}, {"beta", a.beta.value_or(0.5)}});
  }
  if (name == "selu") {
    return x.apply("nn.selu", {{"alpha", a.alpha.value_or(1.67326319217681884765625)},
                               {"gamma", a.gamma.value_or(1.05070102214813232421875)}});
  }
  if (name == "scaledtanh" && a.alpha && a.beta) return (x * *a.beta).apply("tanh") * *a.alpha;
  if (name == "clip" && a.alpha && a.beta) {
    return x.apply("clip", {{"a_min", *a.alpha}, {"a_max", *a.beta}});
  }
  x.node().unsupported(fmt::format("the activation `{}`", a.name));
}

}  // namespace tessera::import
