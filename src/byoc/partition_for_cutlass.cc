// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "byoc/passes.h"
#include "passes/manager.h"

namespace tessera::byoc {
namespace {

// The whole pass, in the names of others.
constexpr std::string_view kSequence =
    "infer-type,merge-composite{table=cutlass},"
    "annotate-target{targets=[cutlass],include_non_call_ops=false},"
    "partition-graph{bind_constants=false}";

Result<Module> run_partition_for_cutlass(Module module, passes::PassContext& context) {
  std::vector<const passes::Pass*> known;
  for (const auto folder : {passes::all_passes(), all_passes()})
    known.insert(known.end(), folder.begin(), folder.end());
  TESSERA_TRY(const auto calls, passes::parse_pipeline(kSequence, known));
  passes::ManagerOptions options;
  options.pattern_tables = context.pattern_tables;
  options.trace_patterns = context.trace_patterns;
  TESSERA_TRY(auto outcome,
              passes::run_passes(std::move(module), calls, context.operators, options));
  for (Diagnostic& warning : outcome.warnings) context.warnings.push_back(std::move(warning));
  return std::move(outcome.module);
}

}  // namespace

extern const passes::Pass partition_for_cutlass;
const passes::Pass partition_for_cutlass{
    .name = "partition-for-cutlass",
    .summary = "merges what CUTLASS can compute into composites and makes functions of them",
    .needs_types = false,
    .run = run_partition_for_cutlass,
};

}  // namespace tessera::byoc
