// SPDX-License-Identifier: Apache-2.0
#include "backends/cutlass/measuring/kernel_version.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/files.h"

namespace tessera::backends::cutlass {
namespace {

TEST(KernelVersion, NamesTheHeadersOfTheTarget) {
  const auto folder = TempDir::make("tessera-cutlass");
  ASSERT_TRUE(folder);
  std::filesystem::create_directory(folder->file("cutlass"));
  const auto version_of = [&](const char* header) {
    EXPECT_TRUE(write_atomically(folder->file("cutlass/version.h"), header));
    return kernel_version(Target("cutlass").with("include", folder->path()));
  };
  const std::string old =
      version_of("#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 2\n#define CUTLASS_PATCH 11 \n");
  EXPECT_TRUE(old.starts_with("1, CUTLASS 4.2.11, kernels ")) << old;
  EXPECT_NE(old, version_of("#define CUTLASS_MAJOR 4\n#define CUTLASS_MINOR 3\n"
                            "#define CUTLASS_PATCH 0\n"));
  EXPECT_EQ(kernel_version(Target("cutlass").with("include", folder->file("absent")))
                .find("1, CUTLASS ?, kernels "),
            0u);
}

}  // namespace
}  // namespace tessera::backends::cutlass
