// SPDX-License-Identifier: Apache-2.0
// A model whose weights are set computes what the model that was compiled with them does.
#include <fstream>

#include <fmt/format.h>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "import/testing/model.h"
#include "ops/evaluation/compare.h"

namespace tessera::driver {
namespace {

using import::TestModel;
using testing::ModelTest;
using testing::value_of;

Tensor weight(const std::vector<std::int64_t>& shape, std::uint64_t seed) {
  return exec::random_input({"", kFloat32, shape}, seed);
}

std::vector<float> numbers(const Tensor& t) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) {
    values.push_back(static_cast<float>(element_as_double(t, i)));
  }
  return values;
}

class KeptWeightsTest : public ModelTest {
 protected:
  // A convolution, a norm and a product: what passes would fold, reorder and share.
  std::string write(const Tensor& filter, const Tensor& scale, const Tensor& matrix) {
    TestModel m;
    m.input("x", {1, 4, 6, 6});
    m.floats("filter", {8, 4, 3, 3}, numbers(filter));
    m.floats("scale", {8}, numbers(scale));
    m.floats("zero", {8}, std::vector<float>(8, 0));
    m.floats("one", {8}, std::vector<float>(8, 1));
    m.floats("matrix", {128, 5}, numbers(matrix));
    m.node("Conv", {"x", "filter"}, {"a"});
    m.node("BatchNormalization", {"a", "scale", "zero", "zero", "one"}, {"b"});
    m.node("Relu", {"b"}, {"c"});
    m.node("Flatten", {"c"}, {"d"});
    m.node("MatMul", {"d", "matrix"}, {"y"});
    m.output("y");
    const std::string path = folder_.file(fmt::format("{}.onnx", models_++));
    std::ofstream(path, std::ios::binary) << m.proto.SerializeAsString();
    return path;
  }

  CompileOptions options(const std::string& model, const std::vector<std::string>& targets) {
    CompileOptions o;
    o.model = model;
    o.output = folder_.file(fmt::format("{}.so", models_++));
    for (const std::string& t : targets) o.targets.emplace_back(t);
    o.jobs = 1;
    return o;
  }

  int models_ = 0;
  Tensor x_ = weight({1, 4, 6, 6}, 1);
  Tensor filter_ = weight({8, 4, 3, 3}, 2), other_filter_ = weight({8, 4, 3, 3}, 3);
  Tensor scale_ = weight({8}, 4), other_scale_ = weight({8}, 5);
  Tensor matrix_ = weight({128, 5}, 6), other_matrix_ = weight({128, 5}, 7);
};

TEST_F(KeptWeightsTest, SetWeightsAreThoseOfAModelCompiledWithThem) {
  const std::string first = write(filter_, scale_, matrix_);
  const std::string second = write(other_filter_, other_scale_, other_matrix_);
  const auto fixed = [&](const std::string& model) {
    const auto session = value_of(prepare_in_process(options(model, {"cpu"}), {.threads = 1}));
    return value_of(session->run(std::vector{x_})).at(0);
  };
  const Tensor with_first = fixed(first), with_second = fixed(second);
  ASSERT_GT(ops::relative_difference(with_first, with_second), 0.1);
  for (const auto& targets :
       {std::vector<std::string>{"cpu"}, std::vector<std::string>{"cpu", "onednn", "blas"}}) {
    CompileOptions o = options(first, targets);
    o.kept.all = true;
    value_of(compile(o));
    const auto exported = value_of(exec::Session::open_library(o.output, {.threads = 1}));
    const auto interpreted = value_of(prepare_in_process(o, {.threads = 1}));
    for (exec::Session* session : {exported.get(), interpreted.get()}) {
      ASSERT_EQ(session->inputs().size(), 1u);
      ASSERT_EQ(session->weights().size(), 5u);
      const auto result = [&] { return value_of(session->run(std::vector{x_})).at(0); };
      EXPECT_LT(ops::relative_difference(result(), with_first), 1e-5);
      EXPECT_TRUE(session->set_weight("filter", other_filter_));
      EXPECT_TRUE(session->set_weight("scale", other_scale_));
      EXPECT_GT(ops::relative_difference(result(), with_second), 0.1);  // not all of them yet
      EXPECT_TRUE(session->set_weight("matrix", other_matrix_));
      EXPECT_LT(ops::relative_difference(result(), with_second), 1e-5);
      EXPECT_FALSE(session->set_weight("matrix", other_scale_));
    }
  }
}

TEST_F(KeptWeightsTest, OthersAreFoldedStill) {
  CompileOptions o = options(write(filter_, scale_, matrix_), {"cpu"});
  o.kept.names = {"matrix"};
  value_of(compile(o));
  const auto session = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  ASSERT_EQ(session->weights().size(), 1u);
  EXPECT_EQ(session->weights()[0].name, "matrix");
  EXPECT_EQ(session->weights()[0].shape, (std::vector<std::int64_t>{128, 5}));
}

TEST_F(KeptWeightsTest, RelayTextHasNone) {
  CompileOptions o = options(folder_.file("m.relay"), {"cpu"});
  ASSERT_TRUE(write_atomically(o.model,
                               "#[version = \"0.0.5\"]\n"
                               "def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n"));
  o.kept.names = {"x"};
  const auto result = compile(o);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().list[0].code, Code::kBadOption);
  EXPECT_FALSE(result.error().list[0].remedy.empty());
}

}  // namespace
}  // namespace tessera::driver
