// SPDX-License-Identifier: Apache-2.0
// A model of ONNX as a text with its weights beside it is the same model.
#include "driver/save_module_text.h"

#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "import/testing/model.h"

namespace tessera::driver {
namespace {

using import::TestModel;
using testing::value_of;

class SaveModuleText : public testing::ModelTest {
 protected:
  // Names that are no identifiers, a weight, and batches of any size.
  SaveModuleText() {
    model_.input("pixels.1/raw", {1, 3});
    model_.proto.mutable_graph()
        ->mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_param("batch size");
    model_.floats("w 0", {3, 2}, {0.1F, -0.2F, 3, 1e-30F, -0.0F, 7});
    model_.node("MatMul", {"pixels.1/raw", "w 0"}, {"m"});
    model_.node("Relu", {"m"}, {"scores:0"});
    model_.output("scores:0");
  }

  std::unique_ptr<exec::Session> open(const std::string& path) {
    CompileOptions o;
    o.model = path;
    o.targets = {Target()};
    o.jobs = 1;
    return value_of(prepare_in_process(o, {}));
  }

  TestModel model_;
};

TEST_F(SaveModuleText, IsTheSameModelWithItsNames) {
  const std::string onnx = model_.write(), text = folder_.file("out.relay");
  const Module module = value_of(load_model(onnx, {}));
  ASSERT_TRUE(save_module_text(module, text));
  EXPECT_TRUE(read_file(text + ".npz"));
  const ModuleDifference d = compare(module, value_of(load_model(text, {})));
  EXPECT_TRUE(d.equal) << d.where << ": " << d.what;

  const auto before = open(onnx), after = open(text);
  EXPECT_EQ(after->inputs()[0].name, "pixels.1/raw");
  EXPECT_EQ(after->outputs()[0].name, "scores:0");
  exec::PortInfo port = before->inputs()[0];
  for (const std::int64_t batch : {5, 0}) {
    port.shape = {batch, 3};
    const std::vector<Tensor> inputs = {exec::random_input(port, 1)};
    const Tensor scores = value_of(before->run(inputs))[0];
    EXPECT_EQ(scores.shape, (std::vector<std::int64_t>{batch, 2}));
    EXPECT_TRUE(scores == value_of(after->run(inputs))[0]);
  }
}

TEST_F(SaveModuleText, RefusesNamesThatCannotBeReadAgain) {
  const Module module = value_of(load_model(model_.write(), {}));
  for (const char* name : {"out.onnx", "out", "a\".relay", "a\n.relay"}) {
    const auto saved = save_module_text(module, folder_.file(name));
    ASSERT_FALSE(saved) << name;
    EXPECT_EQ(saved.error().list[0].code, Code::kBadOption) << name;
    EXPECT_FALSE(read_file(folder_.file(name))) << name;
  }
  const auto nowhere = save_module_text(module, "/no/such/folder/out.relay");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().list[0].code, Code::kFileNotWritable);
}

}  // namespace
}  // namespace tessera::driver
