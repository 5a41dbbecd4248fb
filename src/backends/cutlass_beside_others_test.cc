// SPDX-License-Identifier: Apache-2.0
// Beside another back end that compiles sources: what the target says of cutlass is about cutlass.
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "backends/ccompiler/ccompiler.h"
#include "backends/cutlass/jobs.h"
#include "backends/cutlass/testing/models.h"
#include "link/toolchain.h"
#include "support/files.h"

namespace tessera::backends {
namespace {

// Compiles what others than cutlass ask for. What cutlass asks for takes nvcc: it is remembered.
class OthersToolchain final : public Toolchain {
 public:
  explicit OthersToolchain(Toolchain& real) : real_(real) {}
  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override {
    const bool is_others = jobs.front().name == "ccompiler";
    for (const CompileJob& job : jobs) (is_others ? others : own).push_back(job);
    return is_others ? real_.compile(jobs) : std::vector<std::string>(jobs.size());
  }
  Result<std::string> archive(std::span<const std::string> objects) override {
    return objects.front().empty() ? "" : real_.archive(objects);
  }
  std::string identity() const override { return real_.identity(); }

  std::vector<CompileJob> own, others;

 private:
  Toolchain& real_;
};

// An artifact and the jobs that it was made of, as text.
std::string text_of(const std::vector<CompileJob>& jobs) {
  std::string text;
  for (const CompileJob& job : jobs) {
    text += fmt::format("{}.{} [{}] [{}] [{}]\n{}\n", job.name, job.extension,
                        fmt::join(job.flags, " "), fmt::join(job.include_folders, " "),
                        fmt::join(job.headers, " "), job.source.text());
  }
  return text;
}

std::string text_of(const Artifact& a) {
  return fmt::format("{} [{}] [{}] [{}] [{}] [{}]\n", a.backend, fmt::join(a.symbols, " "),
                     fmt::join(a.compile_flags, " "), fmt::join(a.runtime_archives, " "),
                     fmt::join(a.cuda_libraries, " "), fmt::join(a.vendor_libraries, " ")) +
         a.payload;
}

struct Compiled {
  std::string own_jobs, other_jobs, other_artifact;
};

Compiled compile_both(const Target& target, Toolchain& real) {
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target},
                                         {&ccompiler_backend(), Target("ccompiler")}};
  auto placed = byoc::partition_greedy(cutlass::testing::parse(R"(
def @main(%x: Tensor[(64, 256), float16], %w: Tensor[(96, 256), float16],
          %y: Tensor[(64, 96), float32], %z: Tensor[(64, 96), float32]) {
  %0 = cast(nn.dense(%x, %w, units=None), dtype="float32");
  %1 = subtract(%y, %z);
  (%0, nn.relu(multiply(%1, %1)))
})"),
                                       choices);
  EXPECT_TRUE(placed) << render(placed.error());
  OthersToolchain toolchain(real);
  byoc::CompileContext context{toolchain, 1, false, {}, nullptr};
  const auto compiled = byoc::compile_backends(*std::move(placed), choices, context);
  EXPECT_TRUE(compiled) << render(compiled.error());
  Compiled out{text_of(toolchain.own), text_of(toolchain.others), ""};
  for (const Artifact& a : compiled->module.artifacts) {
    if (a.backend != "cutlass") out.other_artifact += text_of(a);
  }
  return out;
}

TEST(CutlassOptions, AreNothingToOtherBackEnds) {
  const auto folder = TempDir::make("tessera-cutlass-options");
  ASSERT_TRUE(folder);
  const std::string include = folder->file("include");
  std::filesystem::create_directories(include);
  for (const std::string& header :
       cutlass::needed_headers(Target("cutlass").with("include", include))) {
    std::filesystem::create_directories(
        std::filesystem::path(header).lexically_normal().parent_path());
    ASSERT_TRUE(write_atomically(header, ""));
  }
  const auto all = parse_target(fmt::format(
      "cutlass -arch=sm_86 -sm=86 -ptx -multiprocessors=16 -use_3xtf32=false -split_k_slices=2 "
      "-profile_all_alignments -find_first_valid -use_multiprocessing -threads=3 -use_fast_math "
      "-fold_norms=false -tmp_dir=/nowhere -cluster_shapes=2,1 -swizzle=4 -raster=m "
      "-accumulator=float16 -fast_float8_sums=false "
      "-profile_budget=5 -include={}",
      include));
  ASSERT_TRUE(all) << render(all.error());
  for (const TargetOption& option : all->kind().options) {
    EXPECT_NE(all->values().at(option.name), option.default_value) << option.name;
  }
  auto real = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = "", .jobs = 1});
  ASSERT_TRUE(real) << render(real.error());
  const Compiled usual = compile_both(Target("cutlass"), *real), told = compile_both(*all, *real);
  EXPECT_NE(usual.own_jobs, told.own_jobs);
  EXPECT_NE(told.own_jobs.find("[-gencode=arch=compute_86,code=[sm_86,compute_86] "),
            std::string::npos);
  EXPECT_NE(told.other_jobs.find("ccompiler.cc [-std=c++20 -O2] [] []\n"), std::string::npos)
      << told.other_jobs;
  EXPECT_EQ(usual.other_jobs, told.other_jobs);
  EXPECT_GT(told.other_artifact.size(), 1000u);
  EXPECT_TRUE(usual.other_artifact == told.other_artifact);
}

}  // namespace
}  // namespace tessera::backends
