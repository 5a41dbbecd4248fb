// SPDX-License-Identifier: Apache-2.0
#include "backends/cublas/cublas.h"

#include "backends/cublas/float8.h"
#include "backends/cublas/fused_patterns.h"
#include "backends/cublas/library.h"
#include "backends/cublas/region.h"
#include "backends/cublas/tuning.h"
#include "byoc/compiler_functions.h"
#include "types/likely_size.h"

namespace tessera::backends {
namespace cublas {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;

constexpr std::string_view kName = "cublas";

Artifact artifact_of(const std::string& symbol, const Spec& spec) {
  Artifact out;
  out.kind = ArtifactKind::kRuntimeModule;
  out.backend = kName;
  out.symbols = {symbol};
  out.payload = payload_of(spec);
  out.runtime_archives = {"cublas_runtime"};
  out.vendor_libraries = {kLibraryFile};
  out.run_function = "tessera_cublas_run";
  out.state.create_library = "tessera_cublas_create_library";
  out.state.destroy_library = "tessera_cublas_destroy_library";
  out.state.create_call_site = "tessera_cublas_create_call_site";
  out.state.destroy_call_site = "tessera_cublas_destroy_call_site";
  return out;
}

// The begin of a workspace is rounded up.
byoc::ExternInfo info_of(const Spec& spec) {
  byoc::ExternInfo info;
  info.workspace_bytes = spec.workspace_bytes + static_cast<std::int64_t>(kWorkspaceAlignBytes);
  // Products of floats of eight bits are added up with about 14 bits inside of an instruction, also
  // where sums are float32.
  if (spec.sums == Sums::kTf32 || spec.is_float8()) info.float32_precision = kFloat16;
  return info;
}

class Cublas final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  // Needs a GPU, and a library of 500 MB.
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::optional<Refusal> available(const Target&) const override {
    const FoundLibrary& library = found_library();
    if (library.lack.empty()) return std::nullopt;
    return Refusal{library.lack};
  }

  std::string library_path(std::string_view file) const override {
    return file == kLibraryFile ? found_library().path : "";
  }
  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    const FoundLibrary& library = found_library();
    return byoc::UsedLibrary{fmt::format("cublasLt {}", VersionText(library.version).text),
                             library.path};
  }

  std::vector<CompositePattern> patterns(const Target&) const override { return fused_patterns(); }

  byoc::Capabilities capabilities(const Target& target) const override {
    byoc::Capabilities all;
    all.float8_products = multiplies_float8(target);
    all.int8_products = true;
    all.types_of_16_bits = {kFloat16, kBFloat16};
    return all;
  }

  bool measures() const override { return true; }

  std::vector<byoc::TuningTask> tuning_tasks(
      const Module& module, const Target& target,
      const std::map<std::string, Dim>& sizes) const override {
    return cublas::tuning_tasks(module, target, sizes);
  }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    CompileOutcome out;
    const auto sizes = likely_sizes(module.symbols);
    const auto decline = [&](const std::string& symbol, const std::string& why) {
      out.declined.push_back(
          {symbol, error(Code::kBackendFailed, module.functions.at(symbol).location,
                         "back end `{}` cannot compile `{}`: {}", kName, symbol, why)});
    };
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      const auto product = describe_region(module.functions.at(symbol), module.constants, target);
      if (!product) {
        decline(symbol, product.error().reason);
        continue;
      }
      TESSERA_TRY(const auto spec, choose(*product, target, context, sizes));
      if (!spec) {
        decline(symbol, spec.error().reason);
        continue;
      }
      byoc::make_extern(module, symbol, artifact_of(symbol, *spec), info_of(*spec));
    }
    out.module = std::move(module);
    return out;
  }
};

}  // namespace
}  // namespace cublas

const byoc::Backend& cublas_backend() {
  static const cublas::Cublas backend;
  return backend;
}

}  // namespace tessera::backends
