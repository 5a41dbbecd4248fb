// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/cutlass.h"

#include <filesystem>
#include <map>
#include <optional>

#include "backends/cutlass/attention/attention.h"
#include "backends/cutlass/fused_patterns.h"
#include "backends/cutlass/gemm/share_kernels.h"
#include "backends/cutlass/jobs.h"
#include "backends/cutlass/measuring/kernel_version.h"
#include "backends/cutlass/measuring/tuning.h"
#include "backends/cutlass/source.h"
#include "byoc/compiler_functions.h"
#include "types/likely_size.h"

namespace tessera::backends {
namespace cutlass {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;
using relay::Function;

constexpr std::string_view kName = "cutlass";
// A region on its way to a function: its kernel, and the text that calls it.
struct Region {
  std::string symbol;
  CompileJob kernel;
  Source source;
  byoc::ExternInfo info;
};

Region gemm_region(const std::string& symbol, const Function& f, const Gemm& gemm,
                   const Configuration& c, const Target& target) {
  byoc::ExternInfo info;
  info.workspace_bytes = workspace_bytes(gemm, c);
  info.float32_precision = gemm.float32_precision();
  return Region{symbol, kernel_job(gemm, c, target), region_source(symbol, f, gemm, c), info};
}

// Fails for what is wrong with the records; a region that cannot be compiled is a refusal.
Result<Expected<Region, Refusal>> attention_region(const std::string& symbol, const Function& f,
                                                   const ConstantPool& pool, const Target& target,
                                                   const CompileContext& context) {
  const auto attention = describe_attention(f, pool, target);
  if (!attention) return Expected<Region, Refusal>(Unexpected{attention.error()});
  if (auto why = check_kernels(*attention, target)) {
    return Expected<Region, Refusal>(Unexpected{*std::move(why)});
  }
  const auto all = candidates(*attention, target, device_of(target));
  TESSERA_TRY(const auto selection, choose(*attention, all, target, context));
  if (!selection) return Expected<Region, Refusal>(Unexpected{selection.error()});
  const AttentionConfiguration& c = selection->chosen;
  byoc::ExternInfo info;
  info.workspace_bytes = workspace_bytes(*attention, c);
  info.float32_precision = attention->float32_precision();
  return Expected<Region, Refusal>(Region{symbol, kernel_job(*attention, c, target),
                                          region_source(symbol, f, *attention, c), info});
}

// The same of a product.
Result<Expected<Choice, Refusal>> choice_of(const Function& f, const ConstantPool& pool,
                                            const Target& target, const CompileContext& context,
                                            const std::map<std::string, Dim>& sizes) {
  const auto gemm = describe_gemm(f, pool, target);
  if (!gemm) return Expected<Choice, Refusal>(Unexpected{gemm.error()});
  const auto all = candidates(*gemm, target, device_of(target));
  if (all.empty()) {
    return Expected<Choice, Refusal>(Unexpected{Refusal{"no configuration fits"}});
  }
  TESSERA_TRY(auto selection, choose(*gemm, all, target, context, sizes));
  if (!selection) return Expected<Choice, Refusal>(Unexpected{selection.error()});
  Expected<Choice, Refusal> choice =
      Choice{*gemm, std::move(selection->usable), selection->chosen, selection->is_measured};
  return choice;
}

Source regions_text(const std::vector<Region>& regions) {
  Source text = region_prologue();
  for (const Region& r : regions) text += r.source + "\n";
  return text + "}  // extern \"C\"\n";
}

// The kernels of all regions, each once, by their symbols.
std::map<std::string, CompileJob> kernel_jobs(const std::vector<Region>& regions) {
  std::map<std::string, CompileJob> jobs;
  for (const Region& region : regions) jobs.emplace(region.kernel.name, region.kernel);
  return jobs;
}

Diagnostic cannot_compile(const Module& module, const std::string& symbol, const std::string& why) {
  return error(Code::kBackendFailed, module.functions.at(symbol).location,
               "back end `{}` cannot compile `{}`: {}", kName, symbol, why);
}

// The objects of all kernels. Those that do not compile take their regions with them; an error
// where that is the machine's doing.
Result<std::vector<std::string>> compile_kernels(const Module& module, std::vector<Region>& regions,
                                                 CompileContext& context,
                                                 std::vector<byoc::Declined>& declined) {
  const auto jobs = kernel_jobs(regions);
  std::vector<CompileJob> list;
  for (const auto& [symbol, job] : jobs) list.push_back(job);
  std::vector<Result<std::string>> results = context.toolchain.compile_each(list);
  std::map<std::string, Diagnostic> failed;
  std::vector<std::string> objects;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (results[i]) {
      objects.push_back(*std::move(results[i]));
    } else if (context.toolchain.blames_the_machine(results[i].error().list.front())) {
      return Unexpected{std::move(results[i]).error()};
    } else {
      failed.emplace(list[i].name, results[i].error().list.front());
    }
  }
  std::erase_if(regions, [&](const Region& r) {
    const auto why = failed.find(r.kernel.name);
    if (why == failed.end()) return false;
    declined.push_back(
        {r.symbol,
         cannot_compile(module, r.symbol, why->second.message).with_remedy(why->second.remedy)});
    return true;
  });
  return objects;
}

class Cutlass final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  // Needs a GPU: where the targets have one.
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::optional<Refusal> available(const Target& target) const override {
    for (const std::string& header : needed_headers(target)) {
      std::error_code ignored;
      if (std::filesystem::exists(header, ignored)) continue;
      return Refusal{fmt::format(
          "CUTLASS's headers were not found ({}): install the PyPI package nvidia-cutlass 4.2 "
          "(scripts/install-deps.sh does if there is nvcc), or name the folder `include` of "
          "CUTLASS's sources with -include or in TESSERA_CUTLASS_INCLUDE; their `tools/util` and "
          "`examples/88_hopper_fmha` are needed, too",
          include_folder(target).empty() ? "none at build" : header)};
    }
    return std::nullopt;
  }

  std::optional<byoc::UsedLibrary> library(const Target& target) const override {
    if (available(target)) return std::nullopt;
    return byoc::UsedLibrary{kernel_version(target), include_folder(target)};
  }

  // Kernels of Hopper's own instructions are code for sm_90a alone.
  std::vector<Diagnostic> warnings(const Target& target) const override {
    if (target.get_string("arch") != "sm_90" || target.get_bool("ptx")) return {};
    return {
        warning(Code::kBadTarget, {},
                "target `cutlass` is for sm_90, without Hopper's own instructions: its kernels "
                "are those for older devices")
            .with_remedy("give -arch=sm_90a, unless the library is to be for later devices, too")};
  }

  bool needs_cuda_compiler() const override { return true; }

  std::vector<CompositePattern> patterns(const Target&) const override { return fused_patterns(); }

  std::vector<std::string> layouts(const Target&) const override {
    return {"nn.conv2d:NHWC:OHWI", "nn.conv2d_transpose:NHWC:IHWO"};
  }

  byoc::Capabilities capabilities(const Target& target) const override {
    byoc::Capabilities all;
    if (!has_kernels(target)) return all;
    all.int8_products = true;
    all.float8_products = has_tma(target);
    all.mixed_products = has_tma(target);
    all.scaled_rows = target.get_bool("fold_norms");
    all.types_of_16_bits = {kFloat16};
    if (target.get_string("accumulator") == "float32") all.types_of_16_bits.push_back(kBFloat16);
    return all;
  }

  bool measures() const override { return true; }

  std::vector<byoc::TuningTask> tuning_tasks(
      const Module& module, const Target& target,
      const std::map<std::string, Dim>& sizes) const override {
    return cutlass::tuning_tasks(module, target, sizes);
  }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    CompileOutcome out;
    const auto decline = [&](const std::string& symbol, const Refusal& why) {
      out.declined.push_back({symbol, cannot_compile(module, symbol, why.reason)});
    };
    std::vector<Region> regions;
    std::vector<std::string> products;
    std::vector<Choice> choices;
    const auto sizes = likely_sizes(module.symbols);
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      const Function& f = module.functions.at(symbol);
      if (is_attention(f)) {
        TESSERA_TRY(auto region, attention_region(symbol, f, module.constants, target, context));
        region ? regions.push_back(*std::move(region)) : decline(symbol, region.error());
        continue;
      }
      TESSERA_TRY(auto choice, choice_of(f, module.constants, target, context, sizes));
      if (!choice) {
        decline(symbol, choice.error());
        continue;
      }
      products.push_back(symbol);
      choices.push_back(*std::move(choice));
    }
    share_kernels(choices, device_of(target));
    for (std::size_t i = 0; i < products.size(); ++i) {
      const auto& [gemm, candidates, chosen, is_measured] = choices[i];
      regions.push_back(
          gemm_region(products[i], module.functions.at(products[i]), gemm, chosen, target));
    }
    if (!regions.empty()) {
      TESSERA_TRY_VOID(add_artifact(module, regions, target, context, out.declined));
    }
    out.module = std::move(module);
    return out;
  }

 private:
  static Result<void> add_artifact(Module& module, std::vector<Region>& regions,
                                   const Target& target, CompileContext& context,
                                   std::vector<byoc::Declined>& declined) {
    TESSERA_TRY(auto objects, compile_kernels(module, regions, context, declined));
    if (regions.empty()) return {};
    const CompileJob functions = regions_job(regions_text(regions), target);
    TESSERA_TRY(auto object, context.toolchain.compile({&functions, 1}));
    objects.push_back(std::move(object.front()));
    Artifact artifact;
    artifact.kind = ArtifactKind::kStaticLibrary;
    artifact.backend = kName;
    artifact.cuda_libraries = {"libcudart_static.a"};
    TESSERA_TRY(artifact.payload, context.toolchain.archive(objects));
    for (const Region& region : regions) artifact.symbols.push_back(region.symbol);
    module.artifacts.push_back(std::move(artifact));
    const auto index = static_cast<std::int32_t>(module.artifacts.size()) - 1;
    for (const Region& region : regions) {
      byoc::make_extern(module, region.symbol, index, region.info);
    }
    return {};
  }
};

}  // namespace
}  // namespace cutlass

const byoc::Backend& cutlass_backend() {
  static const cutlass::Cutlass backend;
  return backend;
}

}  // namespace tessera::backends
