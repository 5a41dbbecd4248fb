// SPDX-License-Identifier: Apache-2.0
// Types that become bytes: inputs, outputs, and who takes them.
#include "import/testing/refusals.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

constexpr int kInt4 = onnx::TensorProto::INT4, kFloat8 = onnx::TensorProto::FLOAT8E4M3FN;

std::vector<double> result(const TestModel& m, const Tensor& x) {
  const auto module = m.import();
  if (!module) throw std::runtime_error(render(module.error()));
  const Tensor y =
      ops::evaluate(*module, module->functions.at("main"), std::vector<Tensor>{x}).at(0);
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.num_elements(); ++i) values.push_back(element_as_double(y, i));
  return values;
}

TestModel cast_model(int from, int to) {
  TestModel m(21);
  m.input("x", {5}, from);
  m.node("Identity", {"x"}, {"same"});
  set_int(m.node("Cast", {"same"}, {"y"}, "cast"), "to", to);
  m.output("y", {5}, to);
  return m;
}

TEST(Narrow, IntegersKeepTheirLowBits) {
  const TestModel m = cast_model(onnx::TensorProto::INT32, kInt4);
  const std::vector<std::int64_t> x = {7, 8, -9, 100, -8};
  EXPECT_EQ(result(m, tensor_from_ints({5}, kInt32, x)), (std::vector<double>{7, -8, 7, 4, -8}));
}

TEST(Narrow, AnInputOfFourBitsHasAByteForEach) {
  const TestModel m = cast_model(kInt4, onnx::TensorProto::FLOAT);
  const std::vector<std::int64_t> x = {7, -8, 0, 1, -1};
  EXPECT_EQ(result(m, tensor_from_ints({5}, kInt8, x)), (std::vector<double>{7, -8, 0, 1, -1}));
}

TEST(Narrow, FloatsAreTheirCodes) {
  const TestModel m = cast_model(onnx::TensorProto::FLOAT16, kFloat8);
  const std::vector<double> x = {1, -1.0625, 1.1875, 1000, -0.0};  // two ties, the largest, a sign
  EXPECT_EQ(result(m, tensor_from_doubles({5}, kFloat16, x)),
            (std::vector<double>{0x38, 0xb8, 0x3a, 0x7e, 0x80}));
}

TEST(Narrow, OthersDoNotTakeThem) {
  TestModel m(21);
  m.input("x", {5}, kFloat8);
  m.node("Add", {"x", "x"}, {"y"}, "add");
  m.output("y", {5}, kFloat8);
  expect_refused(m.import(),
                 {{Code::kUnsupportedOnnxNode, "add", "an operand of the data type FLOAT8E4M3FN"}});
}

TEST(Narrow, AnOutputIsDeclaredAsWhatItIs) {
  TestModel m(21);
  m.input("x", {5});
  set_int(m.node("Cast", {"x"}, {"y"}), "to", kInt4);
  m.output("y", {5}, onnx::TensorProto::INT8);
  expect_refused(m.import(), {{Code::kDtypeMismatch, "y", "is declared as INT8"}});
}

TEST(Narrow, BranchesGiveNone) {
  TestModel m(21);
  m.input("x", {5});
  m.input("condition", {}, onnx::TensorProto::BOOL);
  auto* n = m.node("If", {"condition"}, {"y"}, "if");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* body = add_attribute(n, name, onnx::AttributeProto::GRAPH)->mutable_g();
    auto* cast = body->add_node();
    TestModel::fill(cast, "Cast", {"x"}, {"r"}, "cast");
    set_int(cast, "to", kInt4);
    body->add_output()->set_name("r");
  }
  m.output("y");
  const auto module = m.import();
  ASSERT_FALSE(module);
  EXPECT_NE(render(module.error()).find("is of the data type INT4"), std::string::npos);
}

}  // namespace
}  // namespace tessera::import
