// SPDX-License-Identifier: Apache-2.0
// For tests: graphs of products as text, on the stand-in of the library.
#pragma once

#include <string>

#include "backends/cublas/cublas.h"
#include "backends/cublas/fused_patterns.h"
#include "backends/cublas/testing/fake.h"
#include "backends/testing/graph_case.h"

namespace tessera::backends::cublas::testing {

namespace graphs = ::tessera::backends::testing;

struct Case {
  std::string what, parameters, body, composite;
  double tolerance = 4e-3;
};

inline Module graph_of(const std::string& parameters, const std::string& body) {
  return graphs::parse_graph(fmt::format("\ndef @main({}) {{\n  {}\n}}", parameters, body));
}

inline byoc::PartitionOutcome compiled(const Module& module, const Target& target) {
  const byoc::BackendChoice choices[] = {{&cublas_backend(), target}};
  return graphs::compile_graph(module, choices);
}

// It is taken as that composite, and computes what the graph does.
inline void expect_taken(const Case& c, const Target& target = Target("cublas")) {
  SCOPED_TRACE(c.what);
  const Module module = graph_of(c.parameters, c.body);
  const auto outcome = compiled(module, target);
  EXPECT_EQ(graphs::composites_of(outcome), std::vector{c.composite});
  graphs::expect_same_results(outcome.module, module, c.tolerance, {1});
}

// Of the first pattern that matches and is refused.
inline std::string refusal_of(const std::string& parameters, const std::string& body,
                              const Target& target = Target("cublas")) {
  const Module module = graph_of(parameters, body);
  const relay::Function& f = module.functions.at("main");
  for (const relay::CompositePattern& row : fused_patterns()) {
    const auto match = relay::match(f, row.pattern, f.result(), &module.constants);
    if (!match) continue;
    const auto why = row.check(*match, target);
    return why ? why->reason : "taken";
  }
  return "unmatched";
}

inline std::string payload_of(const std::string& parameters, const std::string& body,
                              const Target& target = Target("cublas")) {
  return compiled(graph_of(parameters, body), target).module.artifacts.at(0).payload;
}

}  // namespace tessera::backends::cublas::testing
