// SPDX-License-Identifier: Apache-2.0
// `--weights lossless`: smaller libraries that compute the same bits.
#include <filesystem>

#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"
#include "import/testing/model.h"
#include "link/library_file.h"
#include "support/testing/expect_contains.h"

namespace tessera::driver {
namespace {

using import::TestModel;
using ::tessera::testing::expect_contains;
using testing::DynamicShapes;
using testing::value_of;

class LosslessWeights : public DynamicShapes {
 protected:
  // A table of words, a product after it, a bias that is small, and a convolution.
  static std::string model() {
    TestModel m(17);
    m.input("ids", {24}, onnx::TensorProto::INT64);
    weight(m, "words", {500, 64});
    weight(m, "up", {64, 256});
    weight(m, "bias", {256});
    weight(m, "filter", {32, 16, 3, 3});
    m.node("Gather", {"words", "ids"}, {"x"}, "/embed");
    m.node("MatMul", {"x", "up"}, {"p"}, "/up");
    m.node("Add", {"p", "bias"}, {"q"}, "/bias");
    m.ints("sizes", {1, 16, 16, 24});
    m.node("Reshape", {"q", "sizes"}, {"image"});
    m.node("Conv", {"image", "filter"}, {"y"}, "/conv");
    m.output("y");
    return m.proto.SerializeAsString();
  }

  static void weight(TestModel& m, const std::string& name,
                     const std::vector<std::int64_t>& sizes) {
    const Tensor values = exec::random_input({"", kFloat32, sizes}, name.size());
    const auto floats = values.as<float>();
    m.floats(name, sizes, {floats.begin(), floats.end()});
  }

  void compile_with(const std::vector<std::string>& rules,
                    const std::vector<std::string>& targets = {"cpu"}) {
    options_.weights = rules;
    compile_file("m.onnx", model(), targets);
  }

  static std::vector<Tensor> ids() {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < 24; ++i) values.push_back(i * 37 % 500);
    return {int_list(values)};
  }

  Tensor result() {
    const Tensor found = value_of(exported_->run(ids())).at(0);
    EXPECT_TRUE(found == value_of(interpreted_->run(ids())).at(0))
        << "another executor, other bits";
    return found;
  }

  // The nodes whose weights are packed.
  std::string packed() const {
    std::string names;
    for (const passes::WeightRow& row : report_.weights) {
      if (row.form == "lossless") names += (names.empty() ? "" : " ") + row.name;
    }
    return names;
  }

  static std::string file(const std::string& path) { return *read_file(path); }
};

TEST_F(LosslessWeights, ComputeTheSameBitsInLessSpace) {
  for (const auto& targets :
       {std::vector<std::string>{"cpu"}, std::vector<std::string>{"cpu", "onednn"},
        std::vector<std::string>{"cpu", "blas", "ccompiler"}}) {
    compile_with({}, targets);
    const Tensor wanted = result();
    const std::uint64_t bytes = report_.weight_bytes;
    compile_with({"lossless"}, targets);
    EXPECT_TRUE(result() == wanted) << targets.back();
    EXPECT_LT(static_cast<double>(report_.weight_bytes), 0.87 * static_cast<double>(bytes));
    for (const passes::WeightRow& row : report_.weights) {
      EXPECT_EQ(row.form, "lossless") << row.name << " " << row.matrix;
      EXPECT_EQ(row.error, 0) << row.name;
      EXPECT_LT(row.bytes, row.bytes_before) << row.name;
    }
  }
}

TEST_F(LosslessWeights, NamesDecide) {
  compile_with({"lossless"});
  EXPECT_EQ(packed(), "/embed /up /conv");
  compile_with({"/embed=lossless", "/c*=lossless"});
  EXPECT_EQ(packed(), "/embed /conv");
  compile_with({"lossless", "/e*=keep"});
  EXPECT_EQ(packed(), "/up /conv");
  EXPECT_EQ(report_.weights.size(), 2U) << "what nobody asked for is not told";
}

TEST_F(LosslessWeights, StandBesideIntegers) {
  compile_with({"lossless", "/up=int4:group=32"});
  EXPECT_EQ(packed(), "/embed /conv");
  EXPECT_EQ(report_.weights.at(0).form, "int4:group=32,symmetric");
  expect_contains(exported_->metadata(), "\"form\":\"lossless\"");
  expect_contains(exported_->metadata(), "\"ratio\":0.8");
  EXPECT_LT(report_.weights.at(1).bytes, report_.weights.at(1).bytes_before);
}

TEST_F(LosslessWeights, LinkedIntoKernelsOrKeptToBeSetTheyAreTheSame) {
  // Compilers that know the constants may take other instructions: the same kernels are compared.
  options_.link_params = true;
  compile_with({});
  const Tensor wanted = result();
  compile_with({"lossless"});
  EXPECT_TRUE(result() == wanted);
  EXPECT_NE(packed(), "");
  options_.link_params = false;
  options_.kept.all = true;
  compile_with({});
  const Tensor of_kept = result();
  compile_with({"lossless"});
  EXPECT_TRUE(result() == of_kept);
  EXPECT_NE(packed(), "");
  for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
    const Tensor zeros = Tensor::of({64, 256}, kFloat32, std::vector<float>(64 * 256));
    ASSERT_TRUE(session->set_weight("up", zeros));
  }
  EXPECT_FALSE(result() == of_kept);
}

TEST_F(LosslessWeights, TheSameModelGivesTheSameBytes) {
  compile_with({"lossless"});
  const std::string first = file(options_.output), old = options_.output;
  // Its name stands in the file.
  std::filesystem::remove(old);
  options_.output = old;
  (void)value_of(compile(options_));
  EXPECT_TRUE(file(old) == first);
}

TEST_F(LosslessWeights, DamageIsAnErrorWhenTheLibraryIsLoaded) {
  compile_with({"lossless"});
  const std::string whole = file(options_.output);
  const std::string path = folder_.file("damaged.so");
  const auto error_of = [&](const std::string& bytes, int n) {
    const std::string copy = path + std::to_string(n);
    EXPECT_TRUE(write_atomically(copy, bytes));
    const auto opened = exec::Session::open_library(copy, {});
    EXPECT_FALSE(opened) << n;
    return opened ? "" : render(opened.error());
  };
  for (int n = 0; n < 8; ++n) {
    std::string damaged = whole;
    // What is packed is the end of the file.
    const std::size_t at = whole.size() - 200 - static_cast<std::size_t>(n) * 9000;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << n));
    const std::string error = error_of(damaged, n);
    expect_contains(error, "E0602");
    expect_contains(error, "the packed weights of this library are damaged");
  }
  // Without its last pages.
  expect_contains(error_of(whole.substr(0, whole.size() - 20'000), 8), "E0602");
}

TEST_F(LosslessWeights, WhatIsNotUnderstoodIsRefused) {
  options_ = options("def @main(%x: Tensor[(2), float32]) { nn.relu(%x) }\n");
  for (const char* rule : {"lossless:fast", "@last=lossless", "@small=lossless", "=lossless"}) {
    options_.weights = {rule};
    const auto result = compile(options_);
    ASSERT_FALSE(result) << rule;
    expect_contains(render(result.error()), "lossless");
  }
}

}  // namespace
}  // namespace tessera::driver
