// SPDX-License-Identifier: Apache-2.0
#include "backends/onednn/onednn.h"

#include "backends/onednn/codegen.h"
#include "backends/onednn/composites.h"
#include "backends/onednn/machine.h"
#include "byoc/compiler_functions.h"
#include "runtime/vendor_threads.h"
#include "types/processor.h"

namespace tessera::backends {
namespace onednn {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;

constexpr std::string_view kName = "onednn";

const Target* find_cpu(const Module& module) {
  for (const Target& target : module.targets) {
    if (target.name() == "cpu") return &target;
  }
  return nullptr;
}

// bench/results/2026-11-27-native-products-cpu.md
std::optional<Refusal> product_refusal(const Subject& subject, const Kernel& kernel) {
  if (kernel.kind != "matmul") return std::nullopt;
  const KernelOperand* weights = kernel.find("weights");
  const bool is_ours = weights == nullptr || !subject.is_constant(weights->value) ||
                       subject.dtype(weights->value) != kFloat32 ||
                       !constant_shape(kernel.result_dims);
  if (is_ours) return std::nullopt;
  return Refusal{"generated code is faster here (-weight_products=false)"};
}

std::optional<Refusal> check(const Composite& composite, const Match& match, const Target& target) {
  if (compiler_library() == nullptr) return Refusal{compiler_library_error()};
  const Subject subject(match);
  const Machine machine = machine_of(target.host());
  for (const NodeId id : subject.values()) {
    if (auto why = type_refusal(subject.dtype(id), machine)) return why;
  }
  const auto kernel = composite.describe(subject, composite.activation);
  if (!kernel) return kernel.error();
  if (!target.get_bool("weight_products")) {
    if (auto why = product_refusal(subject, *kernel)) return why;
  }
  runtime::VendorThreads threads(machine.threads);
  return threads.run([&] { return library_refusal(subject, *kernel); });
}

Diagnostic slow_sizes_warning(const Location& at, const std::string& sizes) {
  return warning(Code::kSlowCode, at, "back end `onednn`: {}", sizes)
      .with_remedy(
          "narrow the range with --dim, give these sizes a library of their own, or name "
          "other back ends with --backends");
}

Artifact artifact_of(const std::string& symbol, RegionCode code) {
  Artifact out;
  out.kind = ArtifactKind::kRuntimeModule;
  out.backend = kName;
  out.symbols = {symbol};
  out.payload = std::move(code.graph);
  out.runtime_archives = {"onednn_runtime"};
  out.vendor_libraries = compiler_library_files();
  out.run_function = "tessera_onednn_run";
  out.constants = std::move(code.constants);
  out.state = {"tessera_onednn_create_library",   "tessera_onednn_destroy_library",
               "tessera_onednn_create_instance",  "tessera_onednn_destroy_instance",
               "tessera_onednn_create_call_site", "tessera_onednn_destroy_call_site"};
  return out;
}

class Onednn final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }

  std::optional<Refusal> available(const Target&) const override {
    if (compiler_library() != nullptr) return std::nullopt;
    return Refusal{compiler_library_error()};
  }

  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    const Library* library = compiler_library();
    if (library == nullptr) return std::nullopt;
    const dnnl_version_t& v = *library->api().version();
    return byoc::UsedLibrary{fmt::format("oneDNN {}.{}.{}", v.major, v.minor, v.patch),
                             compiler_library_path(kLibraryFile)};
  }

  std::string library_path(std::string_view file) const override {
    return compiler_library_path(std::string(file));
  }

  std::optional<Target> default_target(const Target& cpu) const override {
    const Target all(name());
    return has_avx2_at_most(cpu) ? all.with("weight_products", false) : all;
  }

  std::vector<CompositePattern> patterns(const Target&) const override {
    std::vector<CompositePattern> out;
    for (const Composite& c : composites()) {
      out.push_back({c.name, c.pattern, [&c](const Match& match, const Target& target) {
                       return check(c, match, target);
                     }});
    }
    return out;
  }

  byoc::Capabilities capabilities(const Target& target) const override {
    byoc::Capabilities all;
    all.widened_products = library_multiplies_bytes();
    all.types_of_16_bits = machine_of(target.host()).types_of_16_bits;
    return all;
  }

  std::optional<Refusal> validate(const relay::Function& region, const Target&) const override {
    return sizes_refusal(region);
  }

  byoc::FusionStyle fusion_style() const override { return byoc::FusionStyle::kAnyConvex; }
  byoc::ConstantStyle constants() const override { return byoc::ConstantStyle::kEmbedded; }

  Result<CompileOutcome> compile(Module module, const Target&,
                                 CompileContext& context) const override {
    if (compiler_library() == nullptr) {
      return fail(
          error(Code::kBackendMissing, {}, "back end `onednn`: {}", compiler_library_error()));
    }
    const Machine machine = machine_of(find_cpu(module));
    runtime::VendorThreads threads(machine.threads);
    return threads.run([&] { return compile_regions(std::move(module), machine, context); });
  }

 private:
  static CompileOutcome compile_regions(Module module, const Machine& machine,
                                        CompileContext& context) {
    ReorderedWeights reordered;
    CompileOutcome out;
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      auto code =
          generate(symbol, module.functions.at(symbol),
                   {module.symbols, machine.threads, machine.is_this}, reordered, module.constants);
      if (!code) {
        out.declined.push_back({symbol, code.error().list.front()});
        continue;
      }
      if (!code->slow_sizes.empty()) {
        context.warnings.push_back(
            slow_sizes_warning(module.functions.at(symbol).location, code->slow_sizes));
      }
      const std::int64_t workspace = code->workspace_bytes;
      std::vector<std::string> operators = code->operators;
      byoc::make_extern(module, symbol, artifact_of(symbol, std::move(*code)),
                        {.workspace_bytes = workspace, .operators = std::move(operators)});
    }
    out.module = std::move(module);
    return out;
  }
};

}  // namespace
}  // namespace onednn

const byoc::Backend& onednn_backend() {
  static const onednn::Onednn backend;
  return backend;
}

}  // namespace tessera::backends
