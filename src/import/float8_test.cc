// SPDX-License-Identifier: Apache-2.0
// Models in floats of eight bits: quantised and dequantised values, and products between them.
#include <cmath>

#include "import/testing/refusals.h"
#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

constexpr int kE4M3 = onnx::TensorProto::FLOAT8E4M3FN, kE5M2 = onnx::TensorProto::FLOAT8E5M2;

void codes(TestModel& m, const std::string& name, const std::vector<std::int64_t>& shape,
           const std::string& bytes, int type = kE4M3) {
  auto* t = m.proto.mutable_graph()->add_initializer();
  t->set_name(name);
  t->set_data_type(type);
  for (const auto d : shape) t->add_dims(d);
  t->set_raw_data(bytes);
}

// x [3, 32] quantised by one scale, times weights [32, 8] with a scale for each column.
TestModel qdq_product(const std::vector<float>& scale, const std::vector<float>& of_weights,
                      int type = kE4M3) {
  TestModel m(21);
  m.input("x", {3, 32});
  m.floats("s", {}, scale);
  codes(m, "z", {}, std::string(1, '\0'), type);
  m.floats("t", {static_cast<std::int64_t>(of_weights.size())}, of_weights);
  std::string bytes;
  for (int i = 0; i < 32 * 8; ++i) bytes += static_cast<char>(i % 100);
  codes(m, "w", {32, 8}, bytes, type);
  m.node("QuantizeLinear", {"x", "s", "z"}, {"q"}, "quantize");
  m.node("DequantizeLinear", {"q", "s", "z"}, {"r"}, "dequantize");
  set_int(m.node("DequantizeLinear", {"w", "t"}, {"v"}, "weights"), "axis", 1);
  m.node("MatMul", {"r", "v"}, {"y"}, "product");
  m.output("y");
  return m;
}

std::vector<float> scales_of_columns() { return {0.5F, 0.25F, 1, 2, 0.125F, 1, 1, 0.5F}; }

TEST(Float8Models, KeepCodesAndScalesApart) {
  for (const auto& [type, format] : {std::pair(kE4M3, "e4m3fn"), std::pair(kE5M2, "e5m2")}) {
    const Module module = imported(qdq_product({0.01F}, scales_of_columns(), type));
    const relay::Function& main = module.functions.at("main");
    EXPECT_EQ(count_calls(main, "qnn.quantize_float8"), 1U);
    EXPECT_EQ(count_calls(main, "qnn.dequantize_float8"), 2U);
    EXPECT_EQ(count_calls(main, "take"), 0U);
    for (std::uint32_t i = 0; i < main.num_nodes(); ++i) {
      const relay::NodeId id(i);
      if (!relay::is_call_of(main, id, "qnn.dequantize_float8")) continue;
      const relay::Attrs& attrs = main.as<relay::OpCall>(id)->attrs;
      EXPECT_EQ(relay::read_attrs<ops::Float8Attrs>(attrs).format, format);
    }
  }
}

// By the rounding of ONNX's definition, written out here.
TEST(Float8Models, ComputeWhatTheyMean) {
  const Module module = imported(qdq_product({0.5F}, scales_of_columns()));
  std::vector<double> x(3 * 32);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i) - 40;
  const Tensor y = ops::evaluate(module, module.functions.at("main"),
                                 std::vector<Tensor>{tensor_from_doubles({3, 32}, kFloat32, x)})
                       .at(0);
  const auto number = [](int code) {  // of e4m3, without NaN
    const int exponent = code >> 3 & 15, fraction = code & 7;
    return exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  };
  const auto rounded = [](double value) {
    if (value == 0) return 0.0;
    const double step = std::ldexp(1, std::max(std::ilogb(value), -6) - 3);
    return std::nearbyint(value / step) * step;
  };
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 8; ++column) {
      double sum = 0;
      for (int k = 0; k < 32; ++k) {
        sum += rounded(x[static_cast<std::size_t>(row * 32 + k)] / 0.5) * 0.5 *
               number((k * 8 + column) % 100);
      }
      sum *= scales_of_columns()[static_cast<std::size_t>(column)];
      EXPECT_NEAR(element_as_double(y, row * 8 + column), sum, 1e-4 * std::abs(sum) + 1e-6);
    }
  }
}

TEST(Float8Models, ScalesArePositiveAndFinite) {
  const auto refused = [](const std::string& place, const std::string& finding, TestModel m) {
    const auto module = m.import();
    ASSERT_FALSE(module);
    expect_diagnostic(module.error().list.front(), {Code::kBadOnnxTensor, place, finding});
    EXPECT_FALSE(module.error().list.front().remedy.empty());
  };
  refused("quantize", "its scale 0 is 0;", qdq_product({0}, scales_of_columns()));
  refused("quantize", "its scale 0 is inf;", qdq_product({HUGE_VALF}, scales_of_columns()));
  refused("quantize", "its scale 0 is -1;", qdq_product({-1}, scales_of_columns()));
  std::vector<float> bad = scales_of_columns();
  bad[3] = NAN;
  refused("weights", "its scale 3 is nan;", qdq_product({1}, bad));
}

TEST(Float8Models, ScalesAreNeeded) {
  TestModel m(21);
  m.input("x", {3, 32}, kE4M3);
  m.node("DequantizeLinear", {"x"}, {"y"}, "dequantize");
  m.output("y");
  EXPECT_FALSE(m.import());
}

}  // namespace
}  // namespace tessera::import
