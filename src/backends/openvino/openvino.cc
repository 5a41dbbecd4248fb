// SPDX-License-Identifier: Apache-2.0
#include "backends/openvino/openvino.h"

#include "backends/openvino/engine.h"
#include "backends/openvino/library_handle.h"
#include "backends/openvino/region_graph.h"
#include "byoc/compiler_functions.h"
#include "support/installation.h"

namespace tessera::backends {
namespace openvino {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;

constexpr std::string_view kName = "openvino";

std::string composite_name(std::string_view op) { return fmt::format("{}.{}", kName, op); }

std::optional<Refusal> check(const relay::Match& match, const Target&) { return refusal_of(match); }

std::vector<CompositePattern> make_patterns() {
  std::vector<CompositePattern> out;
  for (const Converter& converter : converters()) {
    const std::string op(converter.op);
    // The tuple of what is put together is no value of its own.
    const bool takes_tuple = op == "concatenate" || op == "stack";
    const relay::Pattern pattern =
        takes_tuple ? relay::is_op(op, {relay::is_any_tuple()}) : relay::is_op_any_args(op);
    out.push_back({composite_name(op), pattern, check});
  }
  out.push_back({composite_name("field"), relay::is_project(relay::wildcard()), check});
  return out;
}

Artifact artifact_of(const std::string& symbol, std::string payload) {
  Artifact out;
  out.kind = ArtifactKind::kRuntimeModule;
  out.backend = kName;
  out.symbols = {symbol};
  out.payload = std::move(payload);
  out.runtime_archives = {"openvino_runtime"};
  out.vendor_libraries = compiler_library_files();
  out.run_function = "tessera_openvino_run";
  out.state.create_library = "tessera_openvino_create_library";
  out.state.destroy_library = "tessera_openvino_destroy_library";
  out.state.create_call_site = "tessera_openvino_create_call_site";
  out.state.destroy_call_site = "tessera_openvino_destroy_call_site";
  return out;
}

Expected<std::string, Refusal> payload_of(const ExportProcess& process,
                                          const relay::Function& region, const Module& module) {
  std::vector<Type> parameters;
  for (const relay::NodeId param : region.params()) {
    for (Type& tensor : flatten(region.type(param))) parameters.push_back(std::move(tensor));
  }
  return compile_graph(
      process, [&](IrWriter& out) { return write_region(region, module.constants, out); },
      parameters, Version(*compiler_library()).text);
}

class Openvino final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }

  std::optional<Refusal> available(const Target& target) const override {
    if (compiler_library() == nullptr) return Refusal{compiler_library_error()};
    const Target* cpu = target.host();
    if (cpu == nullptr || cpu->name() != "cpu" || cpu->get_string("mcpu") == "native") {
      return std::nullopt;
    }
    return Refusal{"OpenVINO compiles for the CPU that it runs on: leave -mcpu out"};
  }

  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::string library_path(std::string_view file) const override {
    return compiler_library_path(std::string(file));
  }

  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    return byoc::UsedLibrary{fmt::format("OpenVINO {}", Version(*compiler_library()).text),
                             library_path(kLibraryFile)};
  }

  std::vector<CompositePattern> patterns(const Target&) const override {
    static const std::vector<CompositePattern> table = make_patterns();
    return table;
  }

  // It looks for its plugins beside its own file.
  bool loads_from_memory() const override { return false; }
  bool takes_whole_graphs() const override { return true; }
  byoc::FusionStyle fusion_style() const override { return byoc::FusionStyle::kAnyConvex; }
  byoc::ConstantStyle constants() const override { return byoc::ConstantStyle::kEmbedded; }

  Result<CompileOutcome> compile(Module module, const Target&,
                                 CompileContext& context) const override {
    if (compiler_library() == nullptr) {
      return fail(
          error(Code::kBackendMissing, {}, "back end `openvino`: {}", compiler_library_error()));
    }
    CompileOutcome out;
    ExportProcess process{command_below(installation_root())};
    process.keeper = &context.toolchain;
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      const relay::Function& region = module.functions.at(symbol);
      auto payload = payload_of(process, region, module);
      if (!payload) {
        out.declined.push_back({symbol, error(Code::kBackendFailed, region.location,
                                              "back end `openvino`: {}", payload.error().reason)});
        continue;
      }
      byoc::make_extern(module, symbol, artifact_of(symbol, *std::move(payload)), {});
    }
    out.module = std::move(module);
    return out;
  }
};

}  // namespace
}  // namespace openvino

void openvino_work(const std::string& folder) { openvino::export_graph(folder); }

const byoc::Backend& openvino_backend() {
  static const openvino::Openvino backend;
  return backend;
}

}  // namespace tessera::backends
