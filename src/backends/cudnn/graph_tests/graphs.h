// SPDX-License-Identifier: Apache-2.0
// For tests: graphs as text through this back end alone.
#pragma once

#include <string>

#include <fmt/format.h>

#include "backends/cudnn/cudnn.h"
#include "backends/testing/compiled_module.h"
#include "backends/testing/graph_case.h"

namespace tessera::backends::cudnn::testing {

inline Module graph_of(const std::string& parameters, const std::string& body) {
  return backends::testing::parse_graph(
      fmt::format("\ndef @main({}) {{\n  {}\n}}", parameters, body));
}

// With engines whose code cuDNN compiles.
inline Target compiling() { return Target("cudnn").with("runtime_engines", true); }

inline byoc::PartitionOutcome compiled(const Module& module,
                                       const Target& target = Target("cudnn")) {
  const byoc::BackendChoice choices[] = {{&cudnn_backend(), target}};
  return backends::testing::compile_graph(module, choices);
}

// The first reason of all, "taken" if there is none.
inline std::string refusal_of(const Module& module, const Target& target = Target("cudnn")) {
  const byoc::BackendChoice choices[] = {{&cudnn_backend(), target}};
  const byoc::Claims claims =
      byoc::claim_composites(module.functions.at("main"), module.constants, choices);
  return claims.refused.empty() ? "taken" : claims.refused.front().reason;
}
inline std::string refusal_of(const std::string& parameters, const std::string& body,
                              const Target& target = Target("cudnn")) {
  return refusal_of(graph_of(parameters, body), target);
}

}  // namespace tessera::backends::cudnn::testing
