// SPDX-License-Identifier: Apache-2.0
#include "byoc/function_at_a_time.h"

#include <algorithm>

#include "byoc/compiler_functions.h"
#include "support/check.h"

namespace tessera::byoc {
namespace {

Result<std::string> static_library(const Artifact& artifact, std::string source,
                                   Toolchain& toolchain) {
  const CompileJob job{artifact.backend, std::move(source), "cc", artifact.compile_flags};
  TESSERA_TRY(const auto objects, toolchain.compile(std::span(&job, 1)));
  return toolchain.archive(objects);
}

std::size_t position_in(std::span<const relay::NodeId> nodes, relay::NodeId node) {
  const auto at = std::find(nodes.begin(), nodes.end(), node);
  TESSERA_CHECK(at != nodes.end(), "node {} is no parameter", node.index());
  return static_cast<std::size_t>(at - nodes.begin());
}

}  // namespace

Result<CompileOutcome> compile_function_at_a_time(Module module, Artifact artifact,
                                                  std::string_view prologue,
                                                  const EmitFunction& emit,
                                                  CompileContext& context) {
  CompileOutcome out;
  std::string source = std::string(prologue) + "\nextern \"C\" {\n\n";
  for (const std::string& symbol : compiler_functions(module, artifact.backend)) {
    const relay::Function& region = module.functions.at(symbol);
    const auto text = emit(symbol, region, module.constants);
    if (text) {
      source += *text + "\n";
      artifact.symbols.push_back(symbol);
    } else {
      out.declined.push_back({symbol, error(Code::kBackendFailed, region.location,
                                            "back end `{}` cannot compile `{}`: {}",
                                            artifact.backend, symbol, text.error().reason)});
    }
  }
  source += "}\n";
  const std::vector<std::string> symbols = artifact.symbols;
  if (!symbols.empty()) {
    if (artifact.kind == ArtifactKind::kStaticLibrary) {
      TESSERA_TRY(artifact.payload, static_library(artifact, std::move(source), context.toolchain));
    } else {
      artifact.payload = std::move(source);
    }
    module.artifacts.push_back(std::move(artifact));
  }
  const auto index = static_cast<std::int32_t>(module.artifacts.size()) - 1;
  for (const std::string& symbol : symbols) make_extern(module, symbol, index, {});
  out.module = std::move(module);
  return out;
}

std::size_t argument_position(const relay::Function& region, relay::NodeId param) {
  const auto call = region.operands(region.result());
  const auto* composite = region.as<relay::Literal>(call[0]);
  TESSERA_CHECK(composite != nullptr, "the region is no call of a composite");
  const std::size_t argument = position_in(region.region(composite->body).params, param);
  return position_in(region.params(), call[argument + 1]);
}

}  // namespace tessera::byoc
