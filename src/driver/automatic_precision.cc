// SPDX-License-Identifier: Apache-2.0
#include "driver/automatic_precision.h"

#include <algorithm>

#include <fmt/format.h>

#include "driver/compilation.h"
#include "driver/outputs.h"
#include "driver/placement.h"
#include "driver/verify.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

bool is_within(const std::vector<OutputError>& errors, double max_error) {
  return std::ranges::all_of(errors, [&](const OutputError& e) {
    return e.overflown == 0 && e.relative <= max_error;  // NaN is not
  });
}

std::string verdict(DType dtype, const std::vector<OutputError>& errors, bool is_chosen,
                    double max_error) {
  return fmt::format("{}: {}; {} {:g}", to_string(dtype), to_string(errors),
                     is_chosen ? "no more than" : "not taken, more than", max_error);
}

}  // namespace

// float16 is the more exact one where both are as fast; a CPU has bfloat16 in its matrix units
// first.
std::vector<DType> types_to_try(const CompileOptions& options) {
  const bool is_on_cpu = compute_target(options.targets).device() == DeviceType::kCpu;
  std::vector<DType> types =
      is_on_cpu ? std::vector{kBFloat16, kFloat16} : std::vector{kFloat16, kBFloat16};
  const std::vector<DType> widened = widened_types(options);
  std::erase_if(types, [&](DType t) { return std::ranges::find(widened, t) != widened.end(); });
  return types;
}

Result<CompileReport> compile_within_error(const CompileOptions& options,
                                           const AutomaticPrecision& wanted,
                                           const Progress& progress) {
  TESSERA_TRY_VOID(check_outputs(options));
  CompileOptions tried = options;
  std::vector<TriedPrecision> before;
  for (const DType dtype : types_to_try(options)) {
    tried.precision = dtype;
    Compilation compilation(tried, progress);
    const auto attempt = [&]() -> Result<bool> {
      TESSERA_TRY(const Lowered lowered, compilation.front_half());
      TESSERA_TRY_VOID(compilation.measure_errors(lowered, wanted.inputs));
      const std::vector<OutputError>& errors = compilation.report.errors;
      const bool is_chosen = is_within(errors, wanted.max_error);
      before.push_back({dtype, errors, is_chosen});
      compilation.done("auto", verdict(dtype, errors, is_chosen, wanted.max_error));
      if (!is_chosen) return false;
      TESSERA_TRY_VOID(compilation.finish(lowered));
      return true;
    };
    const Result<bool> done = attempt();
    if (!done) return fail(compilation.with_warnings(done.error()));
    if (!*done) continue;
    compilation.report.tried = std::move(before);
    return std::move(compilation.report);
  }
  tried.precision = kFloat32;
  TESSERA_TRY(CompileReport report, compile(tried, progress));
  report.tried = std::move(before);
  return report;
}

}  // namespace tessera::driver
