// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate_costs.h"

#include <fmt/format.h>

#include "byoc/outline.h"
#include "byoc/partition_graph.h"
#include "collage/extract.h"
#include "collage/program.h"
#include "collage/signature.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::NodeId;

std::string candidate_name(const Function& function, const std::string& label) {
  std::string compiler = function.attrs.string_or_empty("Compiler");
  if (compiler.empty()) compiler = "tvm";
  const std::string name = label.empty() ? fmt::format("collage_{}", compiler)
                                         : fmt::format("collage_{}_{}", compiler, label);
  return byoc::legal_identifier(name);
}

// What candidates share: the primitive literal that the function calls, or the function.
Function shared_part(const Function& f) {
  if (f.as<relay::ValueCall>(f.result()) == nullptr) return f;
  const NodeId callee = f.operands(f.result())[0];
  const auto* literal = f.as<relay::Literal>(callee);
  return literal != nullptr && relay::is_primitive(literal->attrs) ? relay::outline(f, callee) : f;
}

}  // namespace

CandidateCosts::CandidateCosts(const Module& module, CostEstimator& estimator)
    : estimator_(estimator),
      symbols_([this](const Function& f) { return candidate_name(f, label_); }, module) {
  program_.constants = module.constants;
}

Result<std::string> CandidateCosts::symbol_of(const Function& function) {
  return symbols_.symbol_of(function);
}

Result<void> CandidateCosts::estimate_all(const DataflowGraph& graph,
                                          std::vector<Candidate>& candidates) {
  Signatures signatures(graph);
  std::map<std::vector<std::uint32_t>, Cost> seen;
  for (Candidate& candidate : candidates) {
    if (candidate.cost.is_known()) continue;
    const auto [known, is_new] = seen.try_emplace(signatures.of(candidate));
    if (is_new) {
      TESSERA_TRY(known->second, cost_of(graph, candidate));
    }
    candidate.cost = known->second;
  }
  return {};
}

Result<Cost> CandidateCosts::cost_of(const DataflowGraph& graph, const Candidate& candidate) {
  Function main = with_tensor_params(extract(graph, candidate.sub_graph, {}).function);
  if (candidate.spec->validate) {
    if (const auto why = candidate.spec->validate(main)) return Cost::invalid(why->reason);
  }
  label_ = candidate.sub_graph.label();
  const Result<std::string> symbol = symbols_.symbol_of(shared_part(main));
  label_.clear();
  if (!symbol) return Unexpected{symbol.error()};
  const auto known = costs_.find(*symbol);
  if (known != costs_.end()) return known->second;
  TESSERA_TRY(const Cost cost, estimate(std::move(main), candidate.spec->target));
  return costs_[*symbol] = cost;
}

Result<Cost> CandidateCosts::estimate(Function main, const Target& target) {
  program_.functions.clear();
  program_.functions.emplace("main", std::move(main));
  TESSERA_TRY(program_, byoc::outline_functions(std::move(program_), *this, ""));
  return estimator_.estimate({program_, target});
}

}  // namespace tessera::collage
