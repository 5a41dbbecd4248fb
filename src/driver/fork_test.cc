// SPDX-License-Identifier: Apache-2.0
// A library that ran with several threads runs in a child of the process, too, whoever's threads
// its back ends use.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/table.h"
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "support/files.h"
#include "support/testing/requirement.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class ForkTest : public testing::ModelTest, public ::testing::WithParamInterface<std::string> {};

TEST_P(ForkTest, AChildRunsWhatItsParentRan) {
  CompileOptions o;
  o.model = folder_.file("m.relay");
  o.output = folder_.file("m.so");
  o.jobs = 1;
  o.targets = {Target()};
  if (GetParam() != "cpu") {
    const bool is_here = !backends::find_backend(GetParam())->available(Target(GetParam()));
    if (!::tessera::testing::is_there(GetParam(), is_here)) GTEST_SKIP();
    o.targets.emplace_back(GetParam());
    o.require = {GetParam()};
  }
  ASSERT_TRUE(write_atomically(
      o.model,
      "#[version = \"0.0.5\"]\n"
      "def @main(%x: Tensor[(256, 192), float32], %w: Tensor[(320, 192), float32]) {\n"
      "  %0 = nn.dense(%x, %w, units=320);\n  nn.softmax(%0)\n}\n"));
  value_of(compile(o));
  const auto session = value_of(exec::Session::open_library(o.output, {.threads = 2}));
  std::vector<Tensor> inputs;
  for (const exec::PortInfo& port : session->inputs()) {
    inputs.push_back(exec::random_input(port, inputs.size() + 1));
  }
  const std::vector<Tensor> wanted = value_of(session->run(inputs));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const auto found = session->run(inputs);
    const auto another = exec::Session::open_library(o.output, {.threads = 2});
    const bool same = found && *found == wanted && another && *(*another)->run(inputs) == wanted;
    _exit(same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "exit status, or signal";
  EXPECT_TRUE(value_of(session->run(inputs)) == wanted);
}

INSTANTIATE_TEST_SUITE_P(BackEnds, ForkTest, ::testing::Values("cpu", "onednn", "blas", "openvino"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace tessera::driver
