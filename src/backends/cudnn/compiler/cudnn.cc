// SPDX-License-Identifier: Apache-2.0
#include "backends/cudnn/cudnn.h"

#include <algorithm>

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
using relay::Match;

constexpr std::string_view kName = "cudnn";

// Where the table is used by its name, there is a target of another kind.
Target own_target(const Target& given) { return given.name() == kName ? given : Target(kName); }

// What follows is computed elsewhere if the convolution by itself has a better engine.
std::optional<Refusal> check_fallback(Convolution convolution, const Target& target) {
  if (convolution.steps.empty()) return std::nullopt;
  convolution.steps.clear();
  convolution.operands.resize(2);
  const auto plan = plan_of(convolution, target);
  if (!plan || plan->is_fallback) return std::nullopt;
  return Refusal{"cuDNN has for all of it no engine but its slowest"};
}

std::optional<Refusal> check(const Match& match, const Target& given) {
  const Target target = own_target(given);
  const auto convolution = describe(match, target);
  if (!convolution) return convolution.error();
  const auto plan = plan_of(*convolution, target);
  if (!plan) return plan.error();
  return plan->is_fallback ? check_fallback(*convolution, target) : std::nullopt;
}

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
                                                     const Convolution& convolution) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> order(region.params().size(), kNone);
  for (std::size_t i = 0; i < convolution.operands.size(); ++i) {
    const std::size_t at = byoc::argument_position(region, convolution.operands[i].value);
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
  const auto convolution = describe(*match, target);
  if (!convolution) return Code(Unexpected{convolution.error()});
  const auto order = order_of(region, *convolution);
  if (!order) return Code(Unexpected{order.error()});
  TESSERA_TRY(const auto plan, choose(*convolution, target, context));
  if (!plan) return Code(Unexpected{plan.error()});
  RegionCode code;
  code.graph = graph_text(*convolution, *order, &*plan);
  code.info.workspace_bytes = plan->workspace_bytes;
  if (convolution->tf32 && convolution->dtype == kFloat32) code.info.float32_precision = kFloat16;
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

  std::vector<CompositePattern> patterns(const Target&) const override {
    const auto row = [](const char* op, const std::string& name) {
      return CompositePattern{"cudnn." + name,
                              relay::is_op(op, {relay::wildcard(), relay::wildcard()}), check,
                              "cudnn." + name + "_epilogue"};
    };
    return {row("nn.conv2d", "conv2d"), row("nn.conv1d", "conv1d")};
  }

  std::vector<std::string> layouts(const Target&) const override {
    return {"nn.conv2d:NHWC:OHWI:OHWI", "nn.conv1d:NWC:OWI:OWI"};
  }

  bool measures() const override { return true; }

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
