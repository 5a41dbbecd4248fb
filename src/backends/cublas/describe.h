// SPDX-License-Identifier: Apache-2.0
// A composite as one product that cublasLt computes in one call.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "backends/cublas/runtime/spec.h"
#include "byoc/workload.h"
#include "relay/patterns/pattern_table.h"
#include "types/target.h"

namespace tessera::backends::cublas {

struct Description {
  // Without sizes, numbers of tensors and an algorithm.
  Spec spec;
  Dim m = 0, n = 0, k = 0, batch = 1;
  relay::NodeId a, b, bias, residual;  // inputs of the match; the last two may be none
};

// Captures: "core", the product; "alpha" or "divisor", a constant that it is multiplied or divided
// by; "first" and "second", what is added to it; "relu"; those of tanh_gelu.
Expected<Description, relay::Refusal> describe(const relay::Match& match, const Target& target);

// With sizes where all are numbers, -1 else.
Spec sized(const Description& d);

// As records have it: equal text, equal work. `sizes` are those to measure at of the open ones;
// nothing if one is not known even so.
std::optional<byoc::Workload> workload_of(const Description& d,
                                          const std::map<std::string, Dim>& sizes);

}  // namespace tessera::backends::cublas
