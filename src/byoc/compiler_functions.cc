// SPDX-License-Identifier: Apache-2.0
#include "byoc/compiler_functions.h"

#include <algorithm>

#include "relay/operator.h"

namespace tessera::byoc {

using relay::Function;
using relay::NodeId;

std::vector<std::string> compiler_functions(const Module& module, std::string_view backend) {
  std::vector<std::string> out;
  for (const auto& [name, f] : module.functions) {
    const std::string compiler = f.attrs.string_or_empty("Compiler");
    if (!compiler.empty() && (backend.empty() || compiler == backend)) out.push_back(name);
  }
  return out;
}

void make_extern(Module& module, const std::string& symbol, std::int32_t artifact,
                 ExternInfo info) {
  Function& f = module.functions.at(symbol);
  Extern made;
  made.backend = f.attrs.string_or_empty("Compiler");
  made.artifact = artifact;
  made.convention = artifact == kLoopIr ? CallingConvention::kGenerated : info.convention;
  if (const TargetKind* kind = find_target_kind(made.backend)) {
    made.space = main_memory(kind->device);
  } else if (artifact != kLoopIr) {
    made.space = MemorySpace();  // the runtime's own operators
  }
  made.workspace = {info.workspace_bytes, std::move(info.workspace_query)};
  made.capture = std::move(info.capture);
  made.float32_precision = info.float32_precision;
  for (const NodeId param : f.params()) {
    for (Type& type : flatten(f.type(param))) made.inputs.push_back(std::move(type));
  }
  made.outputs = flatten(f.type(f.result()));
  if (artifact >= 0) {
    for (const NamedConstant& constant :
         module.artifacts[static_cast<std::size_t>(artifact)].constants) {
      made.constants.push_back(constant.index);
    }
  }
  made.operators = info.operators.empty() ? operators_of(f) : std::move(info.operators);
  made.sources = sources_of(f);
  f.attrs = {{"Extern", 1}};
  module.externs[symbol] = std::move(made);
}

void make_extern(Module& module, const std::string& symbol, Artifact artifact, ExternInfo info) {
  module.artifacts.push_back(std::move(artifact));
  make_extern(module, symbol, static_cast<std::int32_t>(module.artifacts.size()) - 1,
              std::move(info));
}

std::vector<std::string> operators_of(const Function& f) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    if (const relay::Operator* op = f.op(NodeId{i})) out.emplace_back(op->name);
  }
  return out;
}

std::vector<Location> sources_of(const Function& f) {
  std::vector<Location> out;
  for (std::size_t i = 0; i < f.num_nodes(); ++i) {
    const NodeId id{i};
    if (f.op(id) == nullptr || f[id].location == nullptr) continue;
    if (std::find(out.begin(), out.end(), f[id].location) == out.end()) {
      out.push_back(f[id].location);
    }
  }
  return out;
}

}  // namespace tessera::byoc
