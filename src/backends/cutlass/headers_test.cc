// SPDX-License-Identifier: Apache-2.0
// Parts of CUTLASS that lie beside its headers are missed before anything is compiled.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "backends/cutlass/cutlass.h"
#include "backends/cutlass/jobs.h"
#include "support/files.h"

namespace tessera::backends::cutlass {
namespace {

TEST(CutlassHeaders, EachPartThatIsMissingIsNamed) {
  namespace fs = std::filesystem;
  const auto folder = TempDir::make("tessera-cutlass");
  ASSERT_TRUE(folder);
  fs::create_directories(folder->file("include"));
  const Target target = Target("cutlass").with("include", folder->file("include"));
  for (const std::string& header : needed_headers(target)) {
    const auto missing = cutlass_backend().available(target);
    ASSERT_TRUE(missing) << header;
    EXPECT_NE(missing->reason.find("not found (" + header + ")"), std::string::npos)
        << missing->reason;
    fs::create_directories(fs::path(header).lexically_normal().parent_path());
    ASSERT_TRUE(write_atomically(header, ""));
  }
  EXPECT_FALSE(cutlass_backend().available(target));
  fs::remove_all(folder->file("examples/88_hopper_fmha"));
  EXPECT_TRUE(cutlass_backend().available(target)) << "kernels of attention are there";
}

TEST(CutlassHeaders, AreThoseOfTheTargetThenOfTheEnvironment) {
  const char* before = std::getenv("TESSERA_CUTLASS_INCLUDE");
  const std::string kept = before != nullptr ? before : "";
  ::setenv("TESSERA_CUTLASS_INCLUDE", "/named", 1);
  const Target usual("cutlass");
  EXPECT_EQ(include_folder(usual), "/named");
  EXPECT_EQ(include_folder(usual.with("include", std::string("/given"))), "/given");
  ::unsetenv("TESSERA_CUTLASS_INCLUDE");
  EXPECT_NE(include_folder(usual), "/named");
  if (before != nullptr) ::setenv("TESSERA_CUTLASS_INCLUDE", kept.c_str(), 1);
}

}  // namespace
}  // namespace tessera::backends::cutlass
