// SPDX-License-Identifier: Apache-2.0
// Graphs on which the fuzzer found a fault, reduced: libraries and the interpreter compute what
// `eval` does.
#include <array>

#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

class ReducedGraphs : public ModelTest {
 protected:
  using Shapes = std::vector<std::vector<std::int64_t>>;

  // `shapes`: of inputs whose sizes are open.
  void expect_right(const std::string& text, const std::vector<std::string>& targets,
                    const Shapes& shapes = {}) {
    CompileOptions o;
    o.model = folder_.file("m.relay");
    o.output = new_library();
    for (const std::string& t : targets) o.targets.push_back(value_of(parse_target(t)));
    o.jobs = 1;
    ASSERT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    value_of(compile(o));
    const Module module = value_of(load_model(o.model, {}));
    const auto exported = value_of(exec::Session::open_library(o.output, {.threads = 1}));
    const auto interpreted = value_of(prepare_in_process(o, {.threads = 1}));
    std::vector<Tensor> inputs;
    for (exec::PortInfo port : exported->inputs()) {
      if (!shapes.empty()) port.shape = shapes.at(inputs.size());
      inputs.push_back(exec::random_input(port, inputs.size() + 1));
    }
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    for (exec::Session* session : {exported.get(), interpreted.get()}) {
      const std::vector<Tensor> found = value_of(session->run(inputs));
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(ops::first_difference(found[i], wanted[i], 1e-5), "") << "result " << i;
      }
    }
  }
};

// The second operand's layout followed that of the first, which has none.
TEST_F(ReducedGraphs, TheSourceOfABinaryPrimitiveIsConstant) {
  expect_right(R"(
def @main(%x: Tensor[(1, 2), float32]) {
  %0 = add(meta[relay.Constant][0], %x);
  %1 = nn.relu(%0);
  %2 = fn (%a: Tensor[(1, 2), float32], %b: Tensor[(1, 2), float32]) { add(%a, %b) };
  %3 = add(%2(meta[relay.Constant][0], meta[relay.Constant][1]), %x);
  (%1, nn.relu(%3))
}

#[metadata]
{"root": 1, "nodes": [{"type_key": ""},
  {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
  {"type_key": "Array", "data": [3, 4]},
  {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}},
  {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "1", "span": "0"}}],
 "b64ndarrays": [
  "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQABAAAAAAAAAAIAAAAAAAAACAAAAAAAAAAAAIA/AAAAQA==",
  "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAgAAAAIgAQABAAAAAAAAAAIAAAAAAAAACAAAAAAAAAAAAIC/AACAPw=="],
 "attrs": {"tvm_version": "0.10.0"}})",
               {"cpu", "onednn"});
}

// A function of the runtime is given a value twice; one without a loop definition has to take it.
TEST_F(ReducedGraphs, AnOperatorOfTheRuntimeReadsAValueTwice) {
  for (const std::vector<std::string>& targets :
       {std::vector<std::string>{"cpu"}, std::vector<std::string>{"cpu", "onednn"}}) {
    expect_right(R"(
def @main(%x: Tensor[(1, 4, 4), float32], %t: float32) {
  %0 = vision.all_class_non_max_suppression(%x, %x, 3i64, %t, %t);
  %1 = @region(%x, 3i64, %t);
  (%0.1, %0.0, %1.1)
}

def @region(%a: Tensor[(1, 4, 4), float32], %n: int64, %t: float32, Compiler="onednn",
    Primitive=1, global_symbol="region") {
  vision.all_class_non_max_suppression(%a, %a, %n, %t, %t)
}
)",
                 targets);
  }
}

// oneDNN has no convolution of nothing, to nothing, or over borders alone.
TEST_F(ReducedGraphs, ConvolutionsOfOpenSizesThatAreZero) {
  const std::string text = R"(
#[symbol n = 0..]
#[symbol c = 0..]
#[symbol o = 0..]
#[symbol h = 0..]
def @main(%x: Tensor[(?n, ?c, ?h, 5), float32], %w: Tensor[(?o, ?c, 3, 3), float32],
    %b: Tensor[(?o), float32]) {
  nn.relu(nn.bias_add(nn.conv2d(%x, %w, padding=[2, 2, 2, 2], kernel_size=[3, 3]), %b))
}
)";
  for (const auto& [n, c, o, h] : {std::array{1, 2, 3, 4},
                                   {0, 2, 3, 4},
                                   {1, 0, 3, 4},
                                   {1, 2, 0, 4},
                                   {1, 2, 3, 0},
                                   {2, 0, 3, 0}}) {
    expect_right(text, {"cpu", "onednn"}, {{n, c, h, 5}, {o, c, 3, 3}, {o}});
  }
}

// There is no place of the least of nothing.
TEST_F(ReducedGraphs, ArgminOfNothing) {
  expect_right(R"(
def @main(%x: Tensor[(2, 0), float32]) {
  (argmin(%x, axis=[1], dtype="int64"), argmax(%x, axis=[1], select_last_index=True))
}
)",
               {"cpu"});
}

}  // namespace
}  // namespace tessera::driver
