// SPDX-License-Identifier: Apache-2.0
// Pow whose base and exponent have different types, which Relay's `power` has not. The numbers
// wanted are those of onnxruntime; what overflows is undefined there, and wraps.
#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<std::int64_t>;
using onnx::TensorProto;

// What the model makes of the two, whose exponent is known where `constant` says so.
Ints pow(const Tensor& base, int base_type, const Tensor& exponent, int exponent_type,
         bool constant) {
  TestModel m;
  const std::int64_t n = base.num_elements();
  m.input("x", {n}, base_type);
  std::vector<Tensor> inputs = {base};
  if (constant) {
    auto* t = m.proto.mutable_graph()->add_initializer();
    t->set_name("e");
    t->set_data_type(exponent_type);
    for (const auto d : exponent.shape) t->add_dims(d);
    t->set_raw_data(exponent.blob->bytes().data(), exponent.blob->bytes().size());
  } else {
    m.input("e", exponent.shape, exponent_type);
    inputs.push_back(exponent);
  }
  m.node("Pow", {"x", "e"}, {"y"});
  m.output("y");
  const auto module = m.import();
  if (!module) throw std::runtime_error(render(module.error()));
  const Tensor y = ops::evaluate(*module, module->functions.at("main"), inputs).at(0);
  EXPECT_EQ(y.dtype, base.dtype);
  Ints values;
  for (std::int64_t i = 0; i < n; ++i) values.push_back(element_as_int(y, i));
  return values;
}

TEST(ImportPow, OfIntegersToFloatsIsExactWhereTheyAreWhole) {
  const Tensor base = tensor_from_ints({6}, kInt64, Ints{16777217, 3, 4, 10, 2, -3});
  const Doubles mixed = {1, 2, 0.5, -1, 64, 3}, whole(1, 1), half(1, 0.5);
  const Tensor exponents = tensor_from_doubles({6}, kFloat32, mixed);
  const Ints wanted = {16777217, 9, 2, 0, 0, -27};
  for (const bool constant : {false, true}) {
    EXPECT_EQ(pow(base, TensorProto::INT64, exponents, TensorProto::FLOAT, constant), wanted);
  }
  const Tensor one = tensor_from_doubles({}, kFloat32, whole);
  EXPECT_EQ(pow(base, TensorProto::INT64, one, TensorProto::FLOAT, true),
            (Ints{16777217, 3, 4, 10, 2, -3}));
  const Tensor root = tensor_from_doubles({}, kFloat32, half);
  const Tensor squares = tensor_from_ints({3}, kInt32, Ints{16, 15, 1 << 30});
  EXPECT_EQ(pow(squares, TensorProto::INT32, root, TensorProto::FLOAT, true),
            (Ints{4, 3, 1 << 15}));
}

TEST(ImportPow, KeepsTheBitsOfAWiderExponent) {
  const std::int64_t wide = std::int64_t{1} << 32;
  const Tensor base = tensor_from_ints({4}, kInt32, Ints{2, -1, 3, -2});
  const Tensor exponents = tensor_from_ints({4}, kInt64, Ints{wide, wide + 1, -wide, 3});
  for (const bool constant : {false, true}) {
    EXPECT_EQ(pow(base, TensorProto::INT32, exponents, TensorProto::INT64, constant),
              (Ints{0, -1, 0, -8}));
  }
}

}  // namespace
}  // namespace tessera::import
