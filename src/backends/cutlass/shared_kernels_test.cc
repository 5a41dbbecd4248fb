// SPDX-License-Identifier: Apache-2.0
// Equal layers share kernels: counted by the symbols that sources define and call.
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::layers;
using cutlass::testing::RecordingToolchain;
using Symbols = std::set<std::string>;

// What the pattern's group is wherever it matches.
Symbols symbols_of(const std::string& source, const char* pattern) {
  const std::regex expression(pattern);
  Symbols symbols;
  for (std::sregex_iterator at(source.begin(), source.end(), expression), end; at != end; ++at) {
    symbols.insert((*at)[1]);
  }
  return symbols;
}

TEST(CutlassSharedKernels, OfTwentyFourLayersAreSixAtMost) {
  RecordingToolchain toolchain;
  const auto outcome = compile(layers(24), toolchain);
  EXPECT_EQ(outcome.regions.size(), 96u);
  Symbols kernels;
  std::string regions;
  for (const auto& [name, source] : toolchain.sources) {
    if (!name.starts_with("tessera_gemm_")) {
      regions += source;
      continue;
    }
    EXPECT_EQ(symbols_of(source, "extern \"C\" int32_t (\\w+)\\("), Symbols{name});
    kernels.insert(name);
    // Types of its own: the linker would take templates of equally named ones for the same.
    EXPECT_NE(source.find("namespace tessera::cutlass::" + name + " {"), std::string::npos);
  }
  EXPECT_EQ(symbols_of(regions, "return (tessera_\\w+)\\(call, &"), kernels);
  EXPECT_GE(kernels.size(), 2u);
  EXPECT_LE(kernels.size(), 6u);
  EXPECT_LE(outcome.module.externs.size(), 6u);
}

}  // namespace
}  // namespace tessera::backends
