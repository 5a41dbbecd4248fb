// SPDX-License-Identifier: Apache-2.0
// Host programs with as many steps as models have kernels: no stage recurses into the program's
// length or takes quadratic time, and a long one computes what it should.
#include <chrono>
#include <functional>

#include <gtest/gtest.h>
#include <pthread.h>

#include "driver/build.h"
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "module/text.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/files.h"
#include "support/testing/near_linear.h"
#include "tir/compare.h"
#include "tir/parse.h"
#include "tir/print.h"

namespace tessera::driver {
namespace {

using relay::NodeId;
using testing::ModelTest;
using testing::value_of;

// Some hundred bytes for each step of the programs below: what recurses over steps needs more.
constexpr std::size_t kStackBytes = std::size_t{1} << 20;

// Runs f on a stack of that size.
void on_small_stack(const std::function<void()>& f) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, kStackBytes), 0);
  pthread_t thread{};
  const auto run = [](void* what) -> void* {
    (*static_cast<const std::function<void()>*>(what))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&f)), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

// Kernels with scratch memory, views of what they write and constants that they read, in a row.
Module chain(int kernels) {
  relay::FunctionBuilder b;
  const NodeId weights =
      b.constant(tensor_from_doubles({8}, kFloat32, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8}));
  NodeId at = b.param("x", tensor_type({Dim(2), Dim(4)}, kFloat32));
  for (int i = 0; i < kernels / 2; ++i) {
    at = b.call(ops::op("nn.softmax"), {at});
    at = b.call(ops::op("reshape"), {at}, {{"newshape", relay::AttrArray{8}}});
    at = b.call(ops::op("add"), {at, weights});
    at = b.call(ops::op("reshape"), {at}, {{"newshape", relay::AttrArray{2, 4}}});
  }
  // The last kernel writes the output through a view of it.
  at = b.call(ops::op("nn.softmax"), {at});
  at = b.call(ops::op("reshape"), {at}, {{"newshape", relay::AttrArray{8}}});
  Module module;
  module.targets = {Target()};
  module.functions["main"] = b.finish(at);
  return value_of(ops::infer_types(std::move(module)));
}

TEST(LongPrograms, NoStageRecursesIntoThem) {
  constexpr int kKernels = tessera::testing::kLargeGraphNodes / 9 * 2;
  const auto begin = std::chrono::steady_clock::now();
  on_small_stack([&] {
    Lowered lowered;
    lowered.module = value_of(lower_functions(chain(kKernels), Target(), ""));
    const tir::PrimFunc& main = lowered.module.prim_funcs.at("main");
    lowered.plan = value_of(plan::make_plan(main, lowered.module));
    lowered.plan.constants = value_of(plan::plan_constants(lowered.module, {}));
    const tir::PrimFunc parsed = value_of(tir::parse_prim_func(tir::print(main, "main")));
    EXPECT_TRUE(tir::equal(parsed, main));
    EXPECT_EQ(tir::hash(parsed), tir::hash(main));
    EXPECT_LT(lowered.plan.pools.at(0).bytes, 1024);
    const Source text = emit::emit_host(
        lowered.module, lowered.plan, emit::layout_weights(lowered.module, lowered.plan.constants),
        {}, emit::ProgramKind::kModel);
    EXPECT_NE(
        text.text().find(fmt::format("tessera_profile_mark(frame->profile, {});", kKernels - 1)),
        std::string::npos);
  });
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_LT(seconds, tessera::testing::kLargeGraphSeconds);
}

class LongProgram : public ModelTest {};

// The text of so many steps is several functions.
TEST_F(LongProgram, ComputesWhatEvalDoes) {
  const Module module = chain(600);
  CompileOptions o;
  o.model = folder_.file("m.relay");
  o.output = folder_.file("m.so");
  o.dump_dir = folder_.file("dump");
  o.targets = {Target()};
  o.partition = Partition::kNone;
  o.jobs = 1;
  EXPECT_TRUE(write_atomically(o.model, print(module)));
  value_of(compile(o));
  EXPECT_NE(read_file(o.dump_dir + "/host.cc")->find("tessera_steps_1(frame)"), std::string::npos);
  const auto exported = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  const auto interpreted = value_of(prepare_in_process(o, {.threads = 1}));
  const std::vector<Tensor> inputs = {exec::random_input(exported->inputs().at(0), 1)};
  const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
  const auto found = value_of(exported->run(inputs));
  EXPECT_EQ(ops::first_difference(found.at(0), wanted.at(0), 1e-5), "");
  EXPECT_TRUE(value_of(interpreted->run(inputs)).at(0) == found.at(0));
}

}  // namespace
}  // namespace tessera::driver
