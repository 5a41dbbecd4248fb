// SPDX-License-Identifier: Apache-2.0
// Names that are made of a model's must be nobody else's: no macro of what emitted sources include
// may have such a name, or one with a number after it.
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "emit/cuda_kernel.h"
#include "emit/host.h"
#include "emit/kernel.h"
#include "emit/kernel_expr.h"
#include "support/files.h"
#include "support/subprocess.h"
#include "support/testing/requirement.h"

namespace tessera::emit {
namespace {

const std::string kInclude = "-I" TESSERA_SOURCE_DIR "/include",
                  kSource = "-I" TESSERA_SOURCE_DIR "/src";

// What the command prints of the text in `file`, as `#define NAME...` a line.
std::set<std::string> macros(std::vector<std::string> command, const std::string& file,
                             const Source& text) {
  const auto folder = TempDir::make("tessera-names-test");
  EXPECT_TRUE(write_atomically(folder->file(file), text.text()));
  command.insert(command.end(), {kInclude, kSource, folder->file(file)});
  const auto ran = run_process(command);
  EXPECT_TRUE(ran && ran->ok()) << (ran ? ran->err : ran.error().text());
  std::set<std::string> names;
  std::istringstream lines(ran ? ran->out : "");
  for (std::string word; lines >> word;) {
    if (word == "#define" && lines >> word) names.insert(word.substr(0, word.find('(')));
  }
  EXPECT_GT(names.size(), 300u);
  return names;
}

void expect_not_taken(const std::set<std::string>& names) {
  for (const std::string& name : names) {
    EXPECT_NE(c_identifier(name), name);
    // `M_PI_2` is not `M_PI` with a number after it.
    const std::size_t end = name.find_last_not_of("0123456789");
    if (end == name.npos || end + 1 == name.size() || name[end] != '_' || end == 0) continue;
    const std::string stem = name.substr(0, end);
    EXPECT_NE(c_identifier(stem), stem) << name;
  }
}

TEST(Names, AreNoMacrosOfCpp) {
  const std::vector<std::string> command = {"g++", "-std=c++20", "-dM", "-E"};
  expect_not_taken(macros(command, "k.cc", kernel_prologue()));
  expect_not_taken(macros(command, "h.cc", Literal("#include \"runtime/program.h\"\n")));
  expect_not_taken(
      macros(command, "b.cc", Literal("#include <cmath>\n#include \"tessera/call.h\"\n")));
}

TEST(Names, AreNoMacrosOfCuda) {
  std::string nvcc = "nvcc";
  if (!run_process({nvcc, "--version"})) nvcc = "/usr/local/cuda/bin/nvcc";
  if (!tessera::testing::is_there("nvcc", run_process({nvcc, "--version"}).has_value())) {
    GTEST_SKIP() << "there is no nvcc";
  }
  expect_not_taken(
      macros({nvcc, "-std=c++20", "-E", "-Xcompiler", "-dM"}, "k.cu", cuda_prologue()));
}

TEST(Names, OfOneScopeAreDistinct) {
  KernelScope scope;
  const tir::Buffer a = tir::make_buffer("a.b\r", kFloat32, {}),
                    b = tir::make_buffer("a/b\n", kFloat32, {}),
                    c = tir::make_buffer("return", kFloat32, {}),
                    d = tir::make_buffer("self", kFloat32, {});
  EXPECT_EQ(scope.name(a).text(), "a_b_");
  EXPECT_EQ(scope.name(b).text(), "a_b__1");
  EXPECT_EQ(scope.name(c).text(), "v_return");
  EXPECT_EQ(scope.name(d).text(), "self_1");
}

}  // namespace
}  // namespace tessera::emit
