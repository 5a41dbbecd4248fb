// SPDX-License-Identifier: Apache-2.0
#include "driver/compile.h"

#include "driver/compilation.h"
#include "driver/measured_plans.h"
#include "driver/outputs.h"

namespace tessera::driver {

Result<CompileReport> compile(const CompileOptions& options, const Progress& progress) {
  TESSERA_TRY_VOID(check_outputs(options));
  if (options.partition == Partition::kCollage) return compile_fastest(options, progress);
  Compilation compilation(options, progress);
  const Result<void> done = compilation.make_library();
  if (!done) return fail(compilation.with_warnings(done.error()));
  return std::move(compilation.report);
}

Result<PlacedModel> place_model(const CompileOptions& options) {
  Compilation compilation(options, {});
  Result<Lowered> lowered = compilation.front_half();
  if (!lowered) return fail(compilation.with_warnings(lowered.error()));
  return PlacedModel{std::move(compilation.report), std::move(lowered->module)};
}

Result<CompileReport> tune(const CompileOptions& options, const Progress& progress) {
  Compilation compilation(options, progress);
  const Result<void> done = compilation.tune();
  if (!done) return fail(compilation.with_warnings(done.error()));
  return std::move(compilation.report);
}

Result<std::unique_ptr<exec::Session>> prepare_in_process(
    const CompileOptions& options, const exec::SessionOptions& session,
    const std::function<void(const Diagnostic&)>& warn) {
  Compilation compilation(options, {});
  const auto start = [&]() -> Result<std::unique_ptr<exec::Session>> {
    TESSERA_TRY(Lowered lowered, compilation.front_half());
    return compilation.start(std::move(lowered), session);
  };
  auto started = start();
  if (!started) return fail(compilation.with_warnings(started.error()));
  compilation.warn_of_cache();
  for (const Diagnostic& warning : compilation.report.warnings) {
    if (warn) warn(warning);
  }
  return started;
}

}  // namespace tessera::driver
