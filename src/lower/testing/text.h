// SPDX-License-Identifier: Apache-2.0
// For tests: functions from Relay text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/samples/samples.h"
#include "passes/testing/text.h"

namespace tessera::lower::testing {

using passes::testing::module_of;

// A loop that carries a value which grows by a row an iteration.
inline constexpr std::string_view kGrowingLoop =
    "def @grow(%i: int64, %n: int64, %a: Tensor[(?, 2), float32], %b: Tensor[(?, 2), float32])\n"
    "    -> (Tensor[(?, 2), float32], Tensor[(?, 2), float32]) {\n"
    "  if (less(%i, %n)) {\n"
    "    %0 = add(%i, 1i64);\n    %1 = concatenate((%a, %b));\n"
    "    @grow(%0, %n, %1, exp(negative(%a)))\n"
    "  } else { (%b, %a) }\n}\n";

// The function itself, or `main` of a text that begins with `def`.
inline relay::Function function_of(const std::string& text) {
  if (!text.starts_with("def")) return ops::parse_sample(text).function;
  return module_of(text).functions.at("main");
}

inline std::vector<Tensor> inputs_of(const relay::Function& f, std::uint64_t seed) {
  ops::Sample sample{"", f, {}};
  for (relay::NodeId p : f.params()) sample.inputs.push_back({f.type(p), 0, 0, false});
  return ops::random_inputs(sample, seed);
}

}  // namespace tessera::lower::testing
