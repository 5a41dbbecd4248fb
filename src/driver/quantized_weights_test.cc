// SPDX-License-Identifier: Apache-2.0
// `--weights`: what is stored of each product's weight, and how far results are from the model's.
#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"
#include "import/testing/model.h"
#include "ops/evaluation/compare.h"
#include "relay/text/metadata.h"

namespace tessera::driver {
namespace {

using import::TestModel;
using testing::DynamicShapes;
using testing::value_of;

class QuantizedWeights : public DynamicShapes {
 protected:
  static void weight(TestModel& m, const std::string& name, std::int64_t terms,
                     std::int64_t columns) {
    onnx::TensorProto* t = m.proto.mutable_graph()->add_initializer();
    t->set_name(name);
    t->set_data_type(onnx::TensorProto::FLOAT);
    t->add_dims(terms);
    t->add_dims(columns);
    const Tensor values = exec::random_input({"", kFloat32, {terms, columns}}, name.size());
    std::vector<float> scaled;
    for (const float v : values.as<float>()) scaled.push_back(v / 16);
    t->set_raw_data(std::string(reinterpret_cast<const char*>(scaled.data()), 4 * scaled.size()));
  }

  static void product(TestModel& m, const std::string& name, const std::string& x,
                      const std::string& w, const std::string& y) {
    m.node("MatMul", {x, w}, {y})->set_name(name);
  }

  // Four products, one after the other. The rows are open where there are none.
  void compile_model(std::int64_t rows, const std::vector<std::string>& targets,
                     const std::vector<std::string>& rules) {
    TestModel m(17);
    m.input("x", {rows, 192});
    if (rows == 0) {
      auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type();
      type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("n");
    }
    weight(m, "a", 192, 130);
    weight(m, "bb", 130, 300);
    weight(m, "ccc", 300, 20);
    weight(m, "dddd", 20, 900);
    product(m, "/in", "x", "a", "p");
    m.node("Relu", {"p"}, {"q"});
    product(m, "/up", "q", "bb", "r");
    m.node("Tanh", {"r"}, {"s"});
    product(m, "/down", "s", "ccc", "t");
    product(m, "/head", "t", "dddd", "y");
    m.output("y");
    options_.weights = rules;
    compile_file("m.onnx", m.proto.SerializeAsString(), targets);
  }

  std::string forms() const {
    std::string text;
    for (const passes::WeightRow& row : report_.weights) {
      text += fmt::format("{} {} {}, {}\n", row.name, row.matrix,
                          row.form.empty() ? "as it was" : row.form, row.reason);
    }
    return text;
  }

  // Of the outputs, from those of the model with its own weights.
  double error_at(std::int64_t rows, bool is_open = true) {
    std::vector<DimBinding> dims;
    if (is_open) dims.push_back({"n", rows, {}});
    const Module module = value_of(load_model(options_.model, dims));
    const std::vector<Tensor> x = {exec::random_input({"", kFloat32, {rows, 192}}, 1)};
    const auto wanted = ops::evaluate(module, module.functions.at("main"), x);
    const auto found = value_of(exported_->run(x)), other = value_of(interpreted_->run(x));
    EXPECT_LT(ops::relative_difference(other.at(0), found.at(0)), 1e-5);
    return ops::relative_difference(found.at(0), wanted.at(0));
  }
};

TEST_F(QuantizedWeights, WhatIsFirstLastOrSmallStays) {
  compile_model(0, {"cpu"}, {"int4"});
  EXPECT_EQ(forms(),
            "/in [130, 192] as it was, @first=keep\n"
            "/up [300, 130] int4:group=64,symmetric, int4\n"
            "/down [20, 300] as it was, @small=keep\n"
            "/head [900, 20] as it was, @last=keep\n");
  const passes::WeightRow& up = report_.weights.at(1);
  EXPECT_EQ(up.bytes_before, 300U * 130 * 4);
  EXPECT_LT(up.bytes, up.bytes_before * 0.18);
  EXPECT_GT(up.error, 0.03);
  EXPECT_LT(up.error, 0.12);
}

TEST_F(QuantizedWeights, OfEachFormAreAsCloseAsTheirBitsAllow) {
  // Of four products, one after the other.
  const std::pair<const char*, double> forms[] = {{"int8", 0.02},
                                                  {"int8:group=128,asymmetric", 0.02},
                                                  {"int4:group=32", 0.5},
                                                  {"int4:asymmetric", 0.5}};
  for (const auto& [form, most] : forms) {
    for (const auto& targets :
         {std::vector<std::string>{"cpu"}, std::vector<std::string>{"cpu", "onednn", "blas"}}) {
      compile_model(0, targets,
                    {std::string("*=") + form, std::string("@first=") + form,
                     std::string("@last=") + form, std::string("@small=") + form});
      for (const passes::WeightRow& row : report_.weights) EXPECT_NE(row.form, "") << row.name;
      for (const std::int64_t n : {1, 5, 129, 200}) {
        const double error = error_at(n);
        EXPECT_LT(error, most) << form << ", " << n << " rows";
        EXPECT_GT(error, 1e-4) << form << ", " << n << " rows";
      }
    }
  }
}

TEST_F(QuantizedWeights, NamesDecide) {
  compile_model(3, {"cpu"}, {"int4", "/[iu]*=int8:group=32", "/up=keep"});
  EXPECT_EQ(forms(),
            "/in [130, 192] int8:group=32,symmetric, /[iu]*=int8:group=32\n"
            "/up [300, 130] as it was, /up=keep\n"
            "/down [20, 300] as it was, @small=keep\n"
            "/head [900, 20] as it was, @last=keep\n");
  EXPECT_LT(error_at(3, false), 0.02);
}

TEST_F(QuantizedWeights, TheLibrarySaysWhatItHas) {
  compile_model(2, {"cpu"}, {"int4"});
  EXPECT_NE(exported_->metadata().find("int4:group=64,symmetric"), std::string::npos);
  EXPECT_NE(exported_->metadata().find("@first=keep"), std::string::npos);
  const double small = static_cast<double>(report_.weight_bytes);
  compile_model(2, {"cpu"}, {});
  EXPECT_TRUE(report_.weights.empty());
  EXPECT_LT(small, static_cast<double>(report_.weight_bytes) - 300 * 130 * 3);
}

// Tables that rows are taken from, and one that a product multiplies as well.
class QuantizedTables : public QuantizedWeights {
 protected:
  static constexpr std::int64_t kRows = 700, kWidth = 96;

  // Of any number of rows; `is_shared`: their products with the table are the result.
  void compile_lookup(const std::vector<std::string>& rules, bool is_shared = false) {
    TestModel m(17);
    m.input("i", {0}, onnx::TensorProto::INT64);
    auto* type = m.proto.mutable_graph()->mutable_input(0)->mutable_type();
    type->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param("n");
    weight(m, "table", kRows, kWidth);
    m.node("Gather", {"table", "i"}, {"x"})->set_name("/wte");
    if (is_shared) {
      import::set_int(m.node("Gemm", {"x", "table"}, {"y"}), "transB", 1);
    } else {
      m.node("Relu", {"x"}, {"y"});
    }
    m.output("y");
    options_.weights = rules;
    compile_file("m.onnx", m.proto.SerializeAsString());
  }
  // The largest error of either executor, of so many rows, the last ones of the table among them.
  double error_of_rows(std::int64_t n) {
    std::vector<std::int64_t> indices;
    for (std::int64_t i = 0; i < n; ++i) indices.push_back((kRows - 1 + i * 37) % kRows);
    const std::vector<Tensor> inputs = {Tensor::of<std::int64_t>({n}, kInt64, indices)};
    const Module module = value_of(load_model(options_.model, {{"n", n, {}}}));
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    double worst = 0;
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      const auto found = value_of(session->run(inputs));
      worst = std::max(worst, ops::relative_difference(found.at(0), wanted.at(0)));
    }
    return worst;
  }
};

TEST_F(QuantizedTables, StayUnlessARuleSaysOtherwise) {
  compile_lookup({"int4"});
  EXPECT_EQ(forms(), "/wte [700, 96] as it was, @embedding=keep\n");
  EXPECT_EQ(error_of_rows(3), 0);
  compile_lookup({"int4", "@embedding=fp8"});
  EXPECT_NE(forms().find("as it was, rows of it are taken"), std::string::npos) << forms();
}

TEST_F(QuantizedTables, AreDecodedRowByRow) {
  const std::uint64_t whole = 4 * kRows * kWidth;
  for (const auto& [rule, error, share] :
       {std::tuple("@embedding=int8", 0.005, 0.28), std::tuple("/wte=int4:group=32", 0.08, 0.17),
        std::tuple("@embedding=int4:group=32,asymmetric", 0.08, 0.2)}) {
    compile_lookup({rule});
    ASSERT_EQ(report_.weights.size(), 1u);
    const passes::WeightRow& row = report_.weights.front();
    EXPECT_EQ(row.reason, rule);
    EXPECT_LT(static_cast<double>(row.bytes), share * static_cast<double>(whole)) << rule;
    EXPECT_LT(report_.weight_bytes, row.bytes + 4096) << "in no other form";
    for (const std::int64_t n : {1, 5, 64}) {
      EXPECT_LT(error_of_rows(n), error) << rule;
      EXPECT_GT(error_of_rows(n), 0) << rule;
    }
  }
}

// It would be stored in both forms.
TEST_F(QuantizedTables, StayWhereAProductReadsThemAsTheyAre) {
  compile_lookup({"int4", "@embedding=int8"}, true);
  EXPECT_EQ(forms(),
            "/wte [700, 96] as it was, nn.dense reads it, too\n"
            "Gemm -> y [700, 96] as it was, @last=keep\n");
  compile_lookup({"int4", "@last=int4"}, true);
  ASSERT_EQ(report_.weights.size(), 2u);
  EXPECT_EQ(report_.weights.at(1).reason, "take reads it, too");
}

TEST_F(QuantizedTables, OfOtherTypesStay) {
  const Tensor table = exec::random_input({"t", kFloat64, {300, 96}}, 3);
  options_.weights = {"@embedding=int8"};
  compile_text(
      "def @main(%i: Tensor[(5), int64]) {\n"
      "  take(meta[relay.Constant][0], %i, axis=0)\n}\n#[metadata]\n" +
      relay::metadata_json({table}) + "\n");
  ASSERT_EQ(report_.weights.size(), 1u);
  EXPECT_EQ(report_.weights.front().reason, "rows of float64 are taken");
}

// What is multiplied in eight bits keeps no table.
TEST_F(QuantizedTables, StayWithProductsOfFloatsOfEightBits) {
  compile_lookup({"fp8:dynamic", "@last=fp8:dynamic", "@embedding=int8"}, true);
  for (const passes::WeightRow& row : report_.weights) EXPECT_EQ(row.form, "") << row.name;
}

TEST_F(QuantizedTables, BecomeIntegersWithTheirProducts) {
  compile_lookup({"int8", "@embedding=int8", "@last=int8"}, true);
  ASSERT_EQ(report_.weights.size(), 2u);
  for (const passes::WeightRow& row : report_.weights) EXPECT_NE(row.form, "") << row.name;
  EXPECT_LT(error_of_rows(2), 0.02);
  EXPECT_LT(report_.weight_bytes, 3 * kRows * kWidth) << "not in float32";
}

}  // namespace
}  // namespace tessera::driver
