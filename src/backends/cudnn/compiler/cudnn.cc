// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/cudnn.h"

#include <algorithm>

#include "backends/cudnn/compiler/describe.h"
#include "backends/cudnn/compiler/library.h"
#include "backends/cudnn/compiler/tuning.h"
#include "backends/cudnn/runtime/api.h"
#include "byoc/compiler_functions.h"
#include "byoc/composite_match.h"
#include "byoc/function_at_a_time.h"
#include "relay/patterns/refuse.h"

namespace tessera::backends {
namespace cudnn {
namespace {

using byoc::CompileContext;
using byoc::CompileOutcome;
using byoc::CompositePattern;
using byoc::Refusal;

constexpr std::string_view kName = "cudnn";

Artifact artifact_of(const std::string& symbol, std::string graph) {
  Artifact out;
  out.kind = ArtifactKind::kRuntimeModule;
  out.backend = kName;
  out.symbols = {symbol};
  out.payload = std::move(graph);
  out.runtime_archives = {"cudnn_runtime"};
  out.vendor_libraries = {kLibraryFile};
  out.run_function = "tessera_cudnn_run";
  out.state = {"",
               "",
               "tessera_cudnn_create_instance",
               "tessera_cudnn_destroy_instance",
               "tessera_cudnn_create_call_site",
               "tessera_cudnn_destroy_call_site"};
  return out;
}

struct RegionCode {
  std::string graph;
  byoc::ExternInfo info;
};

// Which operand each parameter of the region is.
Expected<std::vector<std::size_t>, Refusal> order_of(const relay::Function& region,
                                                     const Region& described) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> order(region.params().size(), kNone);
  for (std::size_t i = 0; i < described.operands.size(); ++i) {
    const std::size_t at = byoc::argument_position(region, described.operands[i].value);
    if (order.at(at) != kNone) return relay::refuse("one argument is given for two operands");
    order[at] = i;
  }
  const bool are_read =
      std::all_of(order.begin(), order.end(), [](std::size_t i) { return i != kNone; });
  if (!are_read) return relay::refuse("the region has a parameter that it does not read");
  return order;
}

// Fails for what is wrong with the records; a region that cannot be compiled is a refusal.
Result<Expected<RegionCode, Refusal>> code_of(const relay::Function& region,
                                              const ConstantPool& pool, const Target& target,
                                              const CompileContext& context) {
  using Code = Expected<RegionCode, Refusal>;
  const auto match = byoc::composite_match(region, pool);
  if (!match) return Code(relay::refuse("the region is not a call of a composite"));
  const auto described = describe(*match, target);
  if (!described) return Code(Unexpected{described.error()});
  const auto order = order_of(region, *described);
  if (!order) return Code(Unexpected{order.error()});
  TESSERA_TRY(auto plan, choose(*described, target, context));
  if (context.made != nullptr && context.made->may_make()) {
    TESSERA_TRY_VOID(keep_plans(target, *context.made));
    // Another process may have kept one before.
    TESSERA_TRY(plan, choose(*described, target, context));
  }
  if (!plan) return Code(Unexpected{plan.error()});
  RegionCode code;
  code.graph = graph_text(*described, *order, &*plan);
  code.info.workspace_bytes = plan->workspace_bytes;
  if (described->multiplies_tf32()) code.info.float32_precision = kFloat16;
  return Code(std::move(code));
}

class Cudnn final : public byoc::Backend {
 public:
  std::string_view name() const override { return kName; }
  // Needs a GPU: where the targets have one.
  std::optional<Target> default_target(const Target&) const override { return std::nullopt; }

  std::optional<Refusal> available(const Target&) const override { return library_missing(); }

  std::string library_path(std::string_view) const override { return cudnn::library_path(); }
  std::optional<Refusal> refuses_to_bundle() const override {
    return Refusal{
        "cuDNN is several libraries of 1 GB, which find each other in the folder where it is "
        "installed: install it where the model runs, or name its folder in TESSERA_LIBRARY_PATH"};
  }
  std::optional<byoc::UsedLibrary> library(const Target&) const override {
    return byoc::UsedLibrary{fmt::format("cuDNN {}", library_version_text()),
                             cudnn::library_path()};
  }

  std::vector<CompositePattern> patterns(const Target&) const override { return composites(); }

  std::vector<std::string> layouts(const Target&) const override {
    return {"nn.conv2d:NHWC:OHWI:OHWI", "nn.conv1d:NWC:OWI:OWI"};
  }

  bool measures() const override { return true; }

  bool makes_on_device(const Target& target) const override {
    return target.get_bool("runtime_engines");
  }
  Result<void> recall(const Target& target, const byoc::MadeParts* made) const override {
    return recall_plans(target, made);
  }

  std::vector<byoc::TuningTask> tuning_tasks(const Module& module, const Target& target,
                                             const std::map<std::string, Dim>&) const override {
    return cudnn::tuning_tasks(module, target);
  }

  Result<CompileOutcome> compile(Module module, const Target& target,
                                 CompileContext& context) const override {
    CompileOutcome out;
    for (const std::string& symbol : byoc::compiler_functions(module, kName)) {
      TESSERA_TRY(auto code,
                  code_of(module.functions.at(symbol), module.constants, target, context));
      if (!code) {
        out.declined.push_back(
            {symbol,
             error(Code::kBackendFailed, module.functions.at(symbol).location,
                   "back end `{}` cannot compile `{}`: {}", kName, symbol, code.error().reason)});
        continue;
      }
      byoc::make_extern(module, symbol, artifact_of(symbol, std::move(code->graph)),
                        std::move(code->info));
    }
    out.module = std::move(module);
    return out;
  }
};

}  // namespace
}  // namespace cudnn

const byoc::Backend& cudnn_backend() {
  static const cudnn::Cudnn backend;
  return backend;
}

}  // namespace tessera::backends
