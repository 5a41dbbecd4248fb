// SPDX-License-Identifier: Apache-2.0
#include "driver/pipeline.h"

#include "driver/catalogue.h"
#include "ops/infer_types.h"
#include "ops/table.h"
#include "module/text.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

// Folding before simplification: exporters compute shapes in the graph, and rules need sizes.
constexpr std::string_view kGraphPasses =
    "fold-constant,"
    "simplify-inference,"
    "simplify-expr,"
    "fold-constant,"
    "eliminate-common-subexpr,"
    "eliminate-dead-code";

constexpr std::string_view kNativePasses =
    "simplify-expr,"
    "eliminate-common-subexpr,"
    "eliminate-dead-code,"
    "hoist-constants,"
    "fuse-ops";

Result<void> dump(const Module& module, const std::string& stem) {
  if (auto written = write_atomically(stem + ".relay", print(module)); !written) {
    return fail(error(Code::kFileNotWritable, {}, "cannot write {}", written.error().text()));
  }
  return {};
}

Result<Module> run_list(Module module, std::string_view list, const CompileOptions& options,
                        std::vector<Diagnostic>& warnings) {
  TESSERA_TRY(const auto calls, passes::parse_pipeline(list, pass_catalogue()));
  passes::ManagerOptions manager;
  manager.dump_dir = options.dump_dir;
  manager.dump = dump;
  TESSERA_TRY(passes::ManagerOutcome outcome,
              passes::run_passes(std::move(module), calls, ops::operators(), manager));
  for (Diagnostic& w : outcome.warnings) warnings.push_back(std::move(w));
  return ops::infer_types(std::move(outcome.module));
}

}  // namespace

Result<Module> optimize_graph(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings) {
  return run_list(std::move(module), kGraphPasses, options, warnings);
}

Result<Module> prepare_native(Module module, const CompileOptions& options,
                              std::vector<Diagnostic>& warnings) {
  return run_list(std::move(module), kNativePasses, options, warnings);
}

}  // namespace tessera::driver
