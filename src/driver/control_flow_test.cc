// SPDX-License-Identifier: Apache-2.0
// Branches and loops through the whole compiler: the library and the interpreter agree with `eval`,
// with back ends and without.

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

class ControlFlow : public ModelTest {
 protected:
  // Returns the back ends that took something.
  std::set<std::string> expect_right(const std::string& text, bool backends) {
    CompileOptions o;
    o.model = folder_.file("m.relay");
    o.output = folder_.file(backends ? "b.so" : "n.so");
    o.targets = {Target()};
    if (backends) o.targets.insert(o.targets.end(), {Target("onednn"), Target("blas")});
    o.jobs = 1;
    o.partition = backends ? Partition::kGreedy : Partition::kNone;
    o.verify = true;
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    const CompileReport report = value_of(compile(o));
    const Module module = value_of(load_model(o.model, {}));
    const auto interpreted = value_of(prepare_in_process(o, {.threads = 2}));
    const auto exported = value_of(exec::Session::open_library(o.output, {.threads = 2}));
    std::vector<Tensor> inputs;
    for (const exec::PortInfo& port : exported->inputs()) {
      inputs.push_back(exec::random_input(port, inputs.size() + 1));
    }
    for (const std::int64_t truth : {0, 1, 0}) {  // a run leaves nothing to the next
      for (Tensor& t : inputs) {
        if (t.dtype == kBool) t = tensor_from_ints({}, kBool, std::vector{truth});
      }
      const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
      const auto first = value_of(interpreted->run(inputs)),
                 second = value_of(exported->run(inputs));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(ops::first_difference(second[i], wanted[i], 1e-5), "") << "library, result " << i;
        EXPECT_TRUE(first[i] == second[i]) << "interpreter, result " << i;
      }
    }
    std::set<std::string> used;
    for (const PlacementRow& row : report.placement) used.insert(row.backend);
    return used;
  }
};

constexpr const char* kBranches = R"(
def @main(%c: bool, %x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32], %b: Tensor[(8), float32]) {
  %0 = nn.dense(%x, %w, units=8);
  %1 = if (%c) {
    %2 = nn.dense(%0, %w, units=8);
    %3 = nn.bias_add(%2, %b);
    (nn.relu(%3), %x)
  } else {
    %4 = nn.softmax(%0);
    (%4, nn.dense(%4, %w, units=8))
  };
  %5 = if (%c) { %1.0 } else { if (%c) { %x } else { add(%1.1, %1.0) } };
  (nn.dense(%5, %w, units=8), %1.1, %0)
}
)";

// A recurrent network whose hidden state is carried, and each step's kept.
constexpr const char* kLoop = R"(
def @step(%i: int64, %go: bool, %h: Tensor[(2, 8), float32], %x: Tensor[(5, 2, 8), float32], %w: Tensor[(8, 8), float32], %u: Tensor[(8, 8), float32], %all: Tensor[(5, 2, 8), float32]) -> (Tensor[(2, 8), float32], Tensor[(5, 2, 8), float32]) {
  if (logical_and(less(%i, 5i64), %go)) {
    %0 = take(%x, %i, axis=0);
    %1 = nn.dense(%h, %w, units=8);
    %2 = nn.dense(%0, %u, units=8);
    %3 = tanh(add(%1, %2));
    %4 = less(max(%3), 2f);
    @step(add(%i, 1i64), %4, %3, %x, %w, %u, update_row(%all, %3, %i))
  } else {
    (%h, %all)
  }
}
def @main(%c: bool, %h: Tensor[(2, 8), float32], %x: Tensor[(5, 2, 8), float32], %w: Tensor[(8, 8), float32], %u: Tensor[(8, 8), float32]) {
  %9 = @step(0i64, %c, %h, %x, %w, %u, zeros(shape=[5, 2, 8], dtype="float32"));
  (nn.relu(%9.0), %9.1, %h)
}
)";

TEST_F(ControlFlow, BranchesInNativeCode) { expect_right(kBranches, false); }

TEST_F(ControlFlow, RegionsOfBackEndsInsideOfBranches) {
  EXPECT_TRUE(expect_right(kBranches, true).contains("onednn"));
}

TEST_F(ControlFlow, LoopsInNativeCode) { expect_right(kLoop, false); }

TEST_F(ControlFlow, RegionsOfBackEndsInsideOfLoops) {
  EXPECT_TRUE(expect_right(kLoop, true).contains("onednn"));
}

TEST_F(ControlFlow, MainMayBeTheLoop) {
  expect_right(
      "def @main(%c: bool, %i: int64, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  if (less(%i, 9i64)) { @main(%c, add(%i, 2i64), add(%x, 1f)) } else { %x }\n}\n",
      false);
}

// As Relay's `while_loop` makes it: the loop is the value of a `let`, without a result type, and
// uses values from outside.
TEST_F(ControlFlow, ARecursiveLetThatCaptures) {
  for (const bool backends : {false, true}) {
    expect_right(
        "def @main(%c: bool, %x: Tensor[(4, 8), float32], %w: Tensor[(8, 8), float32]) {\n"
        "  let %step = nn.dense(%x, %w, units=8);\n"
        "  %9 = (\n"
        "    let %while_loop = fn (%i: int32, %sum: Tensor[(4, 8), float32]) {\n"
        "      if (logical_and(less(%i, 5), %c)) {\n"
        "        %2 = add(nn.dense(%sum, %w, units=8), %step);\n"
        "        %while_loop(add(%i, 1), tanh(%2))\n"
        "      } else { (%i, %sum) }\n"
        "    };\n"
        "    %while_loop\n"
        "  );\n"
        "  %10 = %9(0, %x);\n"
        "  (%10.1, %10.0)\n}\n",
        backends);
  }
}

TEST_F(ControlFlow, ManyIterationsTakeNoStack) {
  expect_right(
      "def @f(%i: int32, %x: Tensor[(2), float32]) -> Tensor[(2), float32] {\n"
      "  if (less(%i, 20000)) { @f(add(%i, 1), negative(%x)) } else { %x }\n}\n"
      "def @main(%c: bool, %x: Tensor[(2), float32]) { @f(0, %x) }\n",
      false);
}

}  // namespace
}  // namespace tessera::driver
