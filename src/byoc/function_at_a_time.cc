// SPDX-License-Identifier: Apache-2.0
#include "byoc/function_at_a_time.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "byoc/compiler_functions.h"
#include "support/check.h"

namespace tessera::byoc {
namespace {

struct Definition {
  std::string symbol;
  Source text;
};

Source source_of(const Source& prologue, std::span<const Definition> definitions) {
  Source source = prologue + "\nextern \"C\" {\n\n";
  for (const Definition& d : definitions) source += d.text + "\n";
  return source + "}\n";
}

Result<std::string> object_of(const Artifact& artifact, std::string name, Source source,
                              Toolchain& toolchain) {
  const CompileJob job{std::move(name), std::move(source), "cc", artifact.compile_flags};
  TESSERA_TRY(auto objects, toolchain.compile(std::span(&job, 1)));
  return std::move(objects.front());
}

// The functions in one object. Where the compiler will not have them, each is tried alone: those
// that fail are declined, with what the compiler says and where the source is, and go. What the
// machine failed is an error.
Result<std::optional<std::string>> object_of_good(const Module& module, const Artifact& artifact,
                                                  const Source& prologue,
                                                  std::vector<Definition>& definitions,
                                                  std::vector<Declined>& declined,
                                                  Toolchain& toolchain) {
  auto whole = object_of(artifact, artifact.backend, source_of(prologue, definitions), toolchain);
  if (whole) return std::optional(*std::move(whole));
  if (toolchain.blames_the_machine(whole.error().list.front())) {
    return Unexpected{std::move(whole).error()};
  }
  const auto decline = [&](const Definition& d, const Diagnostic& why) {
    declined.push_back(
        {d.symbol,
         error(Code::kBackendFailed, module.functions.at(d.symbol).location,
               "back end `{}` cannot compile `{}`: {}", artifact.backend, d.symbol, why.message)
             .with_remedy(why.remedy)});
  };
  const auto frame = object_of(artifact, artifact.backend, source_of(prologue, {}), toolchain);
  if (!frame && toolchain.blames_the_machine(frame.error().list.front())) {
    return Unexpected{frame.error()};
  }
  std::vector<Definition> good;
  for (Definition& d : definitions) {
    if (!frame) {
      decline(d, whole.error().list.front());
      continue;
    }
    const auto alone = object_of(artifact, d.symbol, source_of(prologue, {&d, 1}), toolchain);
    if (alone) {
      good.push_back(std::move(d));
    } else if (toolchain.blames_the_machine(alone.error().list.front())) {
      return Unexpected{alone.error()};
    } else {
      decline(d, alone.error().list.front());
    }
  }
  // Each is right, and all of them are not: nothing that one of them could be declined for.
  if (good.size() == definitions.size()) return Unexpected{std::move(whole).error()};
  definitions = std::move(good);
  if (definitions.empty()) return std::optional<std::string>();
  TESSERA_TRY(std::string object,
              object_of(artifact, artifact.backend, source_of(prologue, definitions), toolchain));
  return std::optional(std::move(object));
}

std::size_t position_in(std::span<const relay::NodeId> nodes, relay::NodeId node) {
  const auto at = std::find(nodes.begin(), nodes.end(), node);
  TESSERA_CHECK(at != nodes.end(), "node {} is no parameter", node.index());
  return static_cast<std::size_t>(at - nodes.begin());
}

}  // namespace

Result<CompileOutcome> compile_function_at_a_time(Module module, Artifact artifact,
                                                  const Source& prologue, const EmitFunction& emit,
                                                  CompileContext& context) {
  CompileOutcome out;
  std::vector<Definition> definitions;
  for (const std::string& symbol : compiler_functions(module, artifact.backend)) {
    const relay::Function& region = module.functions.at(symbol);
    auto text = emit(symbol, region, module.constants);
    if (text) {
      definitions.push_back({symbol, *std::move(text)});
    } else {
      out.declined.push_back({symbol, error(Code::kBackendFailed, region.location,
                                            "back end `{}` cannot compile `{}`: {}",
                                            artifact.backend, symbol, text.error().reason)});
    }
  }
  if (!definitions.empty() && artifact.kind == ArtifactKind::kStaticLibrary) {
    TESSERA_TRY(const auto object, object_of_good(module, artifact, prologue, definitions,
                                                  out.declined, context.toolchain));
    if (object) {
      TESSERA_TRY(artifact.payload, context.toolchain.archive({&*object, 1}));
    }
  } else if (!definitions.empty()) {
    artifact.payload = source_of(prologue, definitions).text();
  }
  for (const Definition& d : definitions) artifact.symbols.push_back(d.symbol);
  if (!definitions.empty()) module.artifacts.push_back(std::move(artifact));
  const auto index = static_cast<std::int32_t>(module.artifacts.size()) - 1;
  for (const Definition& d : definitions) make_extern(module, d.symbol, index, {});
  out.module = std::move(module);
  return out;
}

Source c_source(const Artifact& artifact) {
  TESSERA_CHECK(artifact.kind == ArtifactKind::kCSource, "`{}` gave no C source", artifact.backend);
  return Source::trusted(artifact.payload);
}

std::size_t argument_position(const relay::Function& region, relay::NodeId param) {
  const auto call = region.operands(region.result());
  const auto* composite = region.as<relay::Literal>(call[0]);
  TESSERA_CHECK(composite != nullptr, "the region is not a call of a composite");
  const std::size_t argument = position_in(region.region(composite->body).params, param);
  return position_in(region.params(), call[argument + 1]);
}

}  // namespace tessera::byoc
