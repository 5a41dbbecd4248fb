// SPDX-License-Identifier: Apache-2.0
#include "backends/tensorrt/tensorrt.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "backends/tensorrt/engine.h"
#include "backends/tensorrt/installation.h"
#include "backends/tensorrt/region_graph.h"
#include "backends/tensorrt/shim/entry.h"
#include "byoc/compiler_functions.h"

namespace tessera::backends {
namespace tensorrt {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;

constexpr std::string_view kName = "tensorrt";

// Where the table is used by its name, there is a target of another kind.
Target own_target(const Target& given) { return given.name() == kName ? given : Target(kName); }

std::optional<Refusal> check(const relay::Match& match, const Target& given) {
  return refusal_of(match, own_target(given));
}

relay::Pattern pattern_of(const Converter& converter) {
  const std::string op(converter.op);
  if (converter.has_weight) return relay::is_op(op, {relay::wildcard(), relay::is_constant()});
  // The tuple of what is put together is no value of its own.
  if (op == "concatenate") return relay::is_op(op, {relay::is_any_tuple()});
  return relay::is_op_any_args(op);
}

std::vector<CompositePattern> make_patterns() {
  std::vector<CompositePattern> out;
  for (const Converter& converter : converters()) {
    out.push_back({composite_name(converter.op), pattern_of(converter), check});
  }
  return out;
}

// Does the version begin with what the user wants?
std::optional<Refusal> version_refusal(const Installation& found, const Target& target) {
  const auto& wanted = std::get<std::vector<std::int64_t>>(target.values().at("tensorrt_version"));
  const std::size_t count = std::min(wanted.size(), found.version.size());
  if (std::equal(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(count),
                 found.version.begin())) {
    return std::nullopt;
  }
  return Refusal{fmt::format("{} is TensorRT {}, not the -tensorrt_version that is asked for",
                             found.library_path, found.version_text())};
}

// The part of an artifact that all have in common.
Artifact artifact_of(ArtifactKind kind, std::string payload) {
  Artifact out;
  out.kind = kind;
  out.backend = kName;
  out.payload = std::move(payload);
  out.run_function = "tessera_tensorrt_run";
  out.state.create_library = "tessera_tensorrt_create_library";
  out.state.destroy_library = "tessera_tensorrt_destroy_library";
  out.state.create_call_site = "tessera_tensorrt_create_call_site";
  out.state.destroy_call_site = "tessera_tensorrt_destroy_call_site";
  return out;
}

// Where tensors are copied to that do not lie as TensorRT wants it.
std::int64_t workspace_bytes(const relay::Function& region) {
  constexpr std::int64_t kAlign = TESSERA_TENSORRT_ALIGN_BYTES;
  std::int64_t bytes = kAlign;
  const auto add = [&](const Type& type) {
    for (const Type& tensor : flatten(type)) {
      const std::int64_t size =
          num_elements(tensor.shape()).constant() * tensor.dtype().size_bytes();
      bytes += (size + kAlign - 1) / kAlign * kAlign;
    }
  };
  for (const relay::NodeId param : region.params()) add(region.type(param));
  add(region.type(region.result()));
  return bytes;
}

// Raised with what decides which engine is built of a graph: shim/build.h, shim/network.h.
constexpr int kEngineVersion = 1;

byoc::MadeKey key_of(const relay::Function& region, const Hash128& graph, std::string device) {
  return {std::string(kName),
          fmt::format("{}, TensorRT {}", kEngineVersion, installation()->version_text()),
          std::move(device),
          fmt::format("engine {} {}", graph.hex(), fmt::join(byoc::operators_of(region), ","))};
}

Unexpected<Diagnostics> not_on_record(const byoc::MadeKey& key) {
  const std::string device = key.device.substr(0, key.device.find_last_not_of(' ') + 1);
  return fail(error(Code::kBackendMissing, {},
                    "back end `{}`: the records have no engine of TensorRT {} on a device `{}` for "
                    "`{}`, and nothing may be built",
                    kName, installation()->version_text(), device, key.workload)
                  .with_remedy("compile on the machine with the device, with --tune, which keeps "
                               "the engine in the records"));
}

using EngineOr = Expected<std::string, Refusal>;

// That of the records; else it is built now, and kept there. What TensorRT refuses is kept, too: it
// is refused where it cannot be asked. What was not built may have been the machine's fault.
Result<EngineOr> engine_of(const std::string& symbol, const Module& module, const Target& target,
                           const Shim& shim, byoc::MadeParts* made) {
  const relay::Function& region = module.functions.at(symbol);
  Graph graph(target);
  const auto results = write_region(region, module.constants, target, graph);
  if (!results) return EngineOr(Unexpected{results.error()});
  const auto engine_in = [](byoc::MadePart part) {
    return part.refusal.empty() ? EngineOr(std::move(part.bytes))
                                : EngineOr(Unexpected{Refusal{std::move(part.refusal)}});
  };
  if (made == nullptr) {
    TESSERA_TRY(Built built, shim.build(symbol, graph, *results));
    return engine_in(std::move(built.part));
  }
  const byoc::MadeKey key = key_of(region, graph.hash(*results), made->device());
  TESSERA_TRY(std::optional<byoc::MadePart> known, made->find(key));
  if (known) return engine_in(*std::move(known));
  if (!made->may_make()) return not_on_record(key);
  TESSERA_TRY(Built built, shim.build(symbol, graph, *results));
  if (!built.is_for_good) return engine_in(std::move(built.part));
  TESSERA_TRY(byoc::MadePart kept, made->keep(key, std::move(built.part), nullptr));
  return engine_in(std::move(kept));
}

class Tensorrt final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::optional<Refusal> available(const Target& target) const override {
    if (!installation()) return installation().error();
    return version_refusal(*installation(), target);
  }
  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    return byoc::UsedLibrary{fmt::format("TensorRT {}", installation()->version_text()),
                             installation()->library_path,
                             "not measured: tessera was tried with a stand-in of TensorRT alone"};
  }
  std::string library_path(std::string_view file) const override {
    return installation() && file == installation()->library_file ? installation()->library_path
                                                                  : "";
  }
  std::optional<Refusal> refuses_to_bundle() const override {
    return Refusal{
        "TensorRT needs other libraries, which it finds where it is installed: install it where "
        "the model runs, or name its folder in TESSERA_LIBRARY_PATH"};
  }

  std::vector<Diagnostic> warnings(const Target& target) const override {
    std::vector<Diagnostic> all;
    if (target.get_bool("use_uint8")) {
      all.push_back(warning(Code::kBadTarget, {}, "tensorrt: -use_uint8 has no effect"));
    }
    if (target.get_bool("use_fp16") && installation() && installation()->version.front() >= 11) {
      all.push_back(warning(Code::kBadTarget, {},
                            "tensorrt: from TensorRT 11 on float32 is not computed in float16: "
                            "-use_fp16 takes models of float16 alone"));
    }
    return all;
  }

  std::vector<CompositePattern> patterns(const Target&) const override {
    static const std::vector<CompositePattern> table = make_patterns();
    return table;
  }
  byoc::Capabilities capabilities(const Target& target) const override {
    byoc::Capabilities all;
    if (target.get_bool("use_fp16")) all.types_of_16_bits = {kFloat16};
    return all;
  }
  std::optional<Refusal> validate(const relay::Function& region,
                                  const Target& target) const override {
    if (!target.get_bool("remove_no_mac_subgraphs")) return std::nullopt;
    for (const std::string& op : byoc::operators_of(region)) {
      const Converter* converter = find_converter(op);
      if (converter != nullptr && converter->multiplies) return std::nullopt;
    }
    return Refusal{"the region has no multiply-accumulate work (-remove_no_mac_subgraphs)"};
  }
  bool makes_on_device(const Target&) const override { return true; }
  bool takes_whole_graphs() const override { return true; }
  byoc::FusionStyle fusion_style() const override { return byoc::FusionStyle::kAnyConvex; }
  byoc::ConstantStyle constants() const override { return byoc::ConstantStyle::kEmbedded; }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    CompileOutcome out;
    const std::vector<std::string> symbols = byoc::compiler_functions(module, kName);
    if (symbols.empty()) {
      out.module = std::move(module);
      return out;
    }
    if (auto why = available(target)) {
      return fail(error(Code::kBackendMissing, {}, "back end `{}`: {}", kName, why->reason));
    }
    TESSERA_TRY(const Shim shim, Shim::make(*installation(), context.toolchain));
    for (const std::string& symbol : symbols) {
      TESSERA_TRY(auto engine, engine_of(symbol, module, target, shim, context.made));
      if (!engine) {
        out.declined.push_back(
            {symbol, error(Code::kBackendFailed, module.functions.at(symbol).location,
                           "back end `{}`: {}", kName, engine.error().reason)});
        continue;
      }
      add_engine(module, symbol, *std::move(engine), target);
    }
    if (out.declined.size() < symbols.size()) add_shim(module, shim);
    out.module = std::move(module);
    return out;
  }

 private:
  static void add_engine(Module& module, const std::string& symbol, std::string engine,
                         const Target& target) {
    Artifact artifact = artifact_of(ArtifactKind::kRuntimeModule, std::move(engine));
    artifact.symbols = {symbol};
    artifact.vendor_libraries = {installation()->library_file};
    byoc::ExternInfo info;
    info.workspace_bytes = workspace_bytes(module.functions.at(symbol));
    if (target.get_bool("use_fp16") || target.get_bool("tf32")) info.float32_precision = kFloat16;
    byoc::make_extern(module, symbol, std::move(artifact), std::move(info));
  }
  // Once, however often the hook runs.
  static void add_shim(Module& module, const Shim& shim) {
    const bool is_there =
        std::any_of(module.artifacts.begin(), module.artifacts.end(), [](const Artifact& a) {
          return a.backend == kName && a.kind == ArtifactKind::kStaticLibrary;
        });
    if (is_there) return;
    module.artifacts.push_back(artifact_of(ArtifactKind::kStaticLibrary, shim.archive()));
  }
};

}  // namespace
}  // namespace tensorrt

const byoc::Backend& tensorrt_backend() {
  static const tensorrt::Tensorrt backend;
  return backend;
}

}  // namespace tessera::backends
