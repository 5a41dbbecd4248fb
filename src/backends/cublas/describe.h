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
  relay::NodeId a, b;                              // inputs of the match
  relay::NodeId bias, residual, a_scale, b_scale;  // likewise, or none
};

// "sm_90a": what is measured on.
std::string architecture(const Target& target);

// Captures: "core", the product, and those of describe_float8 and describe_epilogue.
Expected<Description, relay::Refusal> describe(const relay::Match& match, const Target& target);

// "float16", or "e4m3fn by e5m2".
std::string factors_text(const Spec& spec);

// With sizes where all are numbers, -1 else.
Spec sized(const Description& d);

// As records have it: equal text, equal work. `sizes` are those to measure at of the open ones;
// nothing if one is not known even so.
std::optional<byoc::Workload> workload_of(const Description& d,
                                          const std::map<std::string, Dim>& sizes);

}  // namespace tessera::backends::cublas
