// SPDX-License-Identifier: Apache-2.0
// Writes what the back end would compile for a module in text, for a machine that has nothing of
// ours: kernels as .cu, the functions of the regions as .cc, the flags of each beside it.
//
//   write_sources FILE.relay DIR [TARGET]    prints symbols of regions and what they compute
#include <cstdio>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cutlass/cutlass.h"
#include "byoc/placer.h"
#include "module/text.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/files.h"

namespace tessera::backends {
namespace {

class WritingToolchain final : public Toolchain {
 public:
  explicit WritingToolchain(std::string folder) : folder_(std::move(folder)) {}
  Result<std::vector<std::string>> compile(std::span<const CompileJob> jobs) override {
    for (const CompileJob& job : jobs) {
      const std::string path = fmt::format("{}/{}.{}", folder_, job.name, job.extension);
      TESSERA_TRY_VOID(write(path, job.source.text()));
      TESSERA_TRY_VOID(write(path + ".flags", fmt::format("{}\n", fmt::join(job.flags, " "))));
    }
    return std::vector<std::string>(jobs.size());
  }
  Result<std::string> archive(std::span<const std::string>) override { return std::string(); }
  std::string identity() const override { return "none"; }

 private:
  static Result<void> write(const std::string& path, const std::string& text) {
    if (auto written = write_atomically(path, text); !written) {
      return fail(error(Code::kFileNotWritable, nullptr, "{}", written.error().text()));
    }
    return {};
  }

  std::string folder_;
};

Result<void> write(const std::string& file, const std::string& folder, const Target& target) {
  auto text = read_file(file);
  if (!text) return fail(error(Code::kFileNotFound, nullptr, "{}", text.error().text()));
  TESSERA_TRY(Module module,
              parse_module(std::make_shared<const SourceFile>(SourceFile{file, *std::move(text)}),
                           ops::operators()));
  TESSERA_TRY(module, ops::infer_types(std::move(module)));
  const byoc::BackendChoice choices[] = {{&cutlass_backend(), target}};
  TESSERA_TRY(auto placed, byoc::partition_greedy(std::move(module), choices));
  WritingToolchain toolchain(folder);
  byoc::CompileContext context{toolchain};
  TESSERA_TRY(placed, byoc::compile_backends(std::move(placed), choices, context));
  for (const auto& region : placed.regions) {
    fmt::print("{} {}\n", region.symbol, fmt::join(region.operators, ","));
  }
  return {};
}

}  // namespace
}  // namespace tessera::backends

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) {
    std::fprintf(stderr, "usage: write_sources FILE.relay DIR [TARGET]\n");
    return 2;
  }
  const auto target = tessera::parse_target(argc == 4 ? argv[3] : "cutlass");
  const auto written = target ? tessera::backends::write(argv[1], argv[2], *target)
                              : tessera::Result<void>(tessera::Unexpected{target.error()});
  if (!written) std::fprintf(stderr, "%s", tessera::render(written.error()).c_str());
  return written ? 0 : 1;
}
