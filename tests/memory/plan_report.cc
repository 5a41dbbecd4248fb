// SPDX-License-Identifier: Apache-2.0
#include "tests/memory/plan_report.h"

#include <chrono>
#include <filesystem>

#include <fmt/format.h>

#include "driver/compilation.h"
#include "driver/dimensions.h"
#include "plan/algorithm.h"
#include "types/target_list.h"

namespace tessera::memory {
namespace {

Result<driver::Lowered> lowered(const std::string& model, const ReportOptions& args) {
  driver::CompileOptions options;
  options.model = model;
  options.output = model + ".so";  // is not written
  TESSERA_TRY(options.targets, parse_targets(args.targets));
  TESSERA_TRY_VOID(resolve_targets(options.targets));
  TESSERA_TRY(options.dims, driver::parse_dim_bindings(args.dims));
  return driver::Compilation(options, {}).front_half();
}

}  // namespace

bool report_plans(const std::string& model, const ReportOptions& args) {
  const std::string name = std::filesystem::path(model).stem().string();
  const Result<driver::Lowered> found = lowered(model, args);
  if (!found) {
    fmt::print("{} refused: {}\n", name, found.error().list.front().message);
    return true;
  }
  const plan::Problem problem = {found->plan.needs, {{}}};
  const std::int64_t bound = plan::lower_bound(problem.needs);
  fmt::print("{} needs {} pressure {} bound {}", name, problem.needs.size(),
             found->plan.pressure_bytes, bound);
  bool is_good = true;
  for (const plan::Algorithm* algorithm : plan::algorithms()) {
    const auto begin = std::chrono::steady_clock::now();
    const auto placed = algorithm->place(problem);
    const auto time =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin);
    const bool is_default = algorithm == plan::algorithms().front();
    if (!placed) {
      fmt::print(" {} refused", algorithm->name);
      is_good &= !is_default;
      continue;
    }
    std::vector<plan::Pool> pools = problem.pools;
    plan::set_used_bytes(problem.needs, *placed, pools);
    const double over =
        bound == 0 ? 1 : static_cast<double>(pools[0].bytes) / static_cast<double>(bound);
    fmt::print(" {} {:.4f} {:.1f}ms", algorithm->name, over, time.count());
    if (is_default) {
      const bool by_a_step = pools[0].bytes < bound + tir::kDefaultAlignBytes;
      is_good = over <= args.most || by_a_step;
    }
  }
  fmt::print("{}\n", is_good ? "" : " TOO MUCH");
  std::fflush(stdout);
  return is_good;
}

}  // namespace tessera::memory
