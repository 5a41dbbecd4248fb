// SPDX-License-Identifier: Apache-2.0
// The same model and options give the same bytes, wherever and whenever.
#include <filesystem>

#include <gtest/gtest.h>

#include "command.h"

namespace tessera::e2e {
namespace {

// Another folder, cache, name of the output and number of jobs; every kernel is compiled anew.
TEST(Repeatable, TwoColdCompilesGiveTheSameBytes) {
  std::vector<std::string> libraries;
  const std::pair<std::string, std::string> places[] = {{"one.so", "1"}, {"sub/another.so", "3"}};
  for (const auto& [output, jobs] : places) {
    Command command;
    std::filesystem::create_directories(command.file("sub"));
    command.write("m.relay", R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4, 32), float32], %v: Tensor[(24, 32), float32], %g: Tensor[(4, 40), float32]) {
  %0 = nn.dense(%x, %v, units=24);
  %1 = nn.softmax(%0);
  %2 = nn.layer_norm(%g, ones(shape=[40], dtype="float32"), zeros(shape=[40], dtype="float32"));
  %3 = tanh(%2);
  (add(%1, 0.5f), %3, mean(%3, axis=[0]))
})");
    const ProcessResult compiled = command.run({"compile", "m.relay", "-o", output, "--jobs", jobs,
                                                "--backends", "onednn,ccompiler,blas"});
    ASSERT_TRUE(compiled.ok()) << compiled.err;
    EXPECT_FALSE(names_in(command.file("cache/objects")).empty());
    libraries.push_back(*read_file(command.file(output)));
  }
  EXPECT_TRUE(libraries[0] == libraries[1]);
}

}  // namespace
}  // namespace tessera::e2e
