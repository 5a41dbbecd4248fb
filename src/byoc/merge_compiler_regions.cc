// SPDX-License-Identifier: Apache-2.0
// The pass `merge-compiler-regions` (relay-spec 2.9).
#include "byoc/region_merger.h"
#include "ops/inference/infer_types.h"
#include "passes/pass.h"
#include "relay/rewrite.h"

namespace tessera::byoc {
namespace {

using relay::Copier;
using relay::Function;
using relay::NodeId;

// Pairs of marks inside one region go.
Result<Function> merged(const Function& f) {
  TESSERA_TRY(const AnnotatedRegions regions, AnnotatedRegions::find(f));
  if (regions.size() == 0) return f;
  const std::vector<std::uint32_t> becomes = merge_regions(f, regions);
  return relay::rewrite(f, [&](Copier& c, NodeId id) -> std::optional<NodeId> {
    if (!is_begin(f, id)) return std::nullopt;
    const NodeId end = f.operands(id)[0];
    if (!is_end(f, end) || becomes[regions.of(id)] != becomes[regions.of(end)]) return std::nullopt;
    return c.map(f.operands(end)[0]);
  });
}

Result<Module> run_merge_compiler_regions(Module module, passes::PassContext&) {
  Diagnostics errors;
  for (auto& [name, f] : module.functions) {
    if (!relay::is_optimizable(f)) continue;
    CheckContext in("in @" + name);
    Result<Function> result = merged(f);
    if (result) {
      f = std::move(result).value();
    } else {
      errors.add(std::move(result).error());
    }
  }
  if (!errors.empty()) return fail(std::move(errors));
  return ops::infer_types(std::move(module));
}

}  // namespace

extern const passes::Pass merge_compiler_regions;
const passes::Pass merge_compiler_regions{
    .name = "merge-compiler-regions",
    .summary = "joins neighbouring regions of one target where that makes no cycle",
    .needs_types = false,
    .run = run_merge_compiler_regions,
};

}  // namespace tessera::byoc
