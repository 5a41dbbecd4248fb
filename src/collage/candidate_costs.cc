// SPDX-License-Identifier: Apache-2.0
#include "collage/candidate_costs.h"

#include <fmt/format.h>

#include "byoc/outline.h"
#include "byoc/partition_graph.h"
#include "collage/extract.h"
#include "collage/signature.h"
#include "relay/function_attributes.h"
#include "relay/rewrite.h"

namespace tessera::collage {
namespace {

using relay::Function;
using relay::FunctionBuilder;
using relay::NodeId;

std::string candidate_name(const Function& function, const std::string& label) {
  std::string compiler = function.attrs.string_or_empty("Compiler");
  if (compiler.empty()) compiler = "tvm";
  const std::string name = label.empty() ? fmt::format("collage_{}", compiler)
                                         : fmt::format("collage_{}_{}", compiler, label);
  return byoc::legal_identifier(name);
}

// A value of a tuple type, of parameters `<name>_<i>` for its tensors.
NodeId tuple_of_params(FunctionBuilder& b, const std::string& name, const Type& type, int& next) {
  if (!type.is_tuple()) {
    const NodeId param = b.param(fmt::format("{}_{}", name, next++), type);
    b.set_type(param, type);
    return param;
  }
  std::vector<NodeId> fields;
  for (const Type& field : type.fields()) fields.push_back(tuple_of_params(b, name, field, next));
  const NodeId tuple = b.tuple(fields);
  b.set_type(tuple, type);
  return tuple;
}

// The same function of tensors alone.
Function with_tensor_params(const Function& f) {
  bool has_tuples = false;
  for (const NodeId param : f.params()) has_tuples |= f.type(param).is_tuple();
  if (!has_tuples) return f;
  FunctionBuilder b;
  std::vector<NodeId> arguments;
  for (const NodeId id : f.params()) {
    const auto& param = *f.as<relay::Param>(id);
    if (f.type(id).is_tuple()) {
      int next = 0;
      arguments.push_back(tuple_of_params(b, param.name, f.type(id), next));
    } else {
      arguments.push_back(b.param(param.name, param.annotation));
      b.set_type(arguments.back(), f.type(id));
    }
  }
  const NodeId result = relay::inline_call(b, f, arguments);
  return b.finish(result, f.attrs, f.result_annotation);
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
