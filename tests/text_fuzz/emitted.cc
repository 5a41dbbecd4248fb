// SPDX-License-Identifier: Apache-2.0
#include "tests/text_fuzz/emitted.h"

#include <gtest/gtest.h>

#include "driver/build.h"
#include "driver/metadata.h"
#include "driver/pipeline.h"
#include "driver/placement.h"
#include "driver/placement_table.h"
#include "driver/report_page.h"
#include "module/text.h"
#include "ops/records/table.h"
#include "support/files.h"
#include "tir/compare.h"
#include "tir/parse.h"
#include "tir/print.h"
#include "types/target_list.h"

namespace tessera::text_fuzz {
namespace {

// Keeps the sources that it is given, and gives something for them.
class Recorder final : public Toolchain {
 public:
  Result<std::vector<std::string>> compile(std::span<const CompileJob> list) override {
    jobs.insert(jobs.end(), list.begin(), list.end());
    return std::vector<std::string>(list.size(), "object");
  }
  Result<std::string> archive(std::span<const std::string>) override { return "archive"; }
  std::string identity() const override { return "none"; }
  std::vector<CompileJob> jobs;
};

void expect_to_read_back(const Module& module) {
  const auto file = std::make_shared<const SourceFile>("printed", print(module));
  const auto again = parse_module(file, ops::operators());
  ASSERT_TRUE(again) << render(again.error()) << file->text;
  const ModuleDifference d = compare(module, *again);
  EXPECT_TRUE(d.equal) << d.where << ": " << d.what << file->text;
}

void expect_loops_to_read_back(const Module& module) {
  for (const auto& [name, f] : module.prim_funcs) {
    const auto again = tir::parse_prim_func(tir::print(f, name));
    ASSERT_TRUE(again) << render(again.error()) << tir::print(f, name);
    EXPECT_TRUE(tir::equal(*again, f)) << tir::print(f, name);
  }
}

void take_jobs(std::span<const CompileJob> jobs, Emitted& out) {
  for (const CompileJob& job : jobs) {
    out.sources.push_back(job.source.text());
    out.job_names.push_back(job.name);
  }
}

}  // namespace

Result<Emitted> emit_all(const FuzzModel& model, const std::vector<std::string>& targets) {
  const auto folder = TempDir::make("tessera-text-fuzz");
  driver::CompileOptions options;
  options.model = folder->file(model.file);
  EXPECT_TRUE(write_atomically(options.model, model.bytes));
  options.kept.names = model.kept;
  TESSERA_TRY(options.targets, parse_targets(targets));
  Recorder recorder;
  byoc::GreedyPlacer placer;
  std::vector<Diagnostic> warnings;
  TESSERA_TRY(Module module, driver::load_model(options.model, {}, options.kept));
  module.targets = options.targets;
  expect_to_read_back(module);
  TESSERA_TRY(module, driver::optimize_graph(std::move(module), options, warnings));
  TESSERA_TRY(driver::Partitioned parts,
              driver::partition_module(std::move(module), options, recorder, placer));
  TESSERA_TRY(driver::Placed placed,
              driver::compile_regions(std::move(parts), options, {}, recorder, placer));
  warnings.insert(warnings.end(), placed.warnings.begin(), placed.warnings.end());
  TESSERA_TRY(module, driver::prepare_native(std::move(placed.module), options, warnings));
  TESSERA_TRY(const driver::Lowered lowered, driver::lower_module(std::move(module), options));
  expect_loops_to_read_back(lowered.module);

  Emitted out;
  driver::CompileReport report;
  report.placement = placed.rows;
  const auto rest = driver::native_rows(lowered.module, placed);
  report.placement.insert(report.placement.end(), rest.begin(), rest.end());
  report.warnings = warnings;
  emit::ProgramInfo info;
  info.build_id = "id";
  info.target = "target";
  info.cpu_arch = "arch";
  out.metadata = driver::metadata_json(lowered, report, "target", {});
  info.metadata_json = out.metadata;
  take_jobs(recorder.jobs, out);
  take_jobs(driver::program_sources(lowered, info, emit::ProgramKind::kModel, {}), out);
  options.model = model.file;
  const emit::WeightsLayout weights = driver::layout_weights(lowered)[0];
  out.page = driver::report_page({options, report, lowered, weights, {}, {}});
  out.shown = driver::placement_table(report.placement);
  for (const Diagnostic& w : warnings) out.shown += render(w);
  return out;
}

}  // namespace tessera::text_fuzz
