// SPDX-License-Identifier: Apache-2.0
// Several sizes that depend on data are not taken for one and the same.
#include <gtest/gtest.h>

#include "import/testing/model.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::import {
namespace {

// v: float32[2, 3, 2], of which data chose the first two sizes out of [3, 4, 2].
class DataSizes : public ::testing::Test {
 protected:
  explicit DataSizes(int opset = 17) : m_(opset) {
    m_.input("x", {3, 4, 2});
    m_.input("rows", {3}, onnx::TensorProto::BOOL);
    m_.input("columns", {4}, onnx::TensorProto::BOOL);
    axis_of(m_.node("Compress", {"x", "rows"}, {"few"}), 0);
    axis_of(m_.node("Compress", {"few", "columns"}, {"v"}), 1);
  }

  static void axis_of(onnx::NodeProto* n, std::int64_t axis) {
    auto* a = n->add_attribute();
    a->set_name("axis");
    a->set_type(onnx::AttributeProto::INT);
    a->set_i(axis);
  }

  Tensor result() {
    m_.output("y");
    const auto module = m_.import();
    if (!module) throw std::runtime_error(render(module.error()));
    std::vector<double> x(24);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
    const std::vector<std::int64_t> rows = {1, 0, 1}, columns = {0, 1, 1, 1};
    const Tensor inputs[] = {tensor_from_doubles({3, 4, 2}, kFloat32, x),
                             tensor_from_ints({3}, kBool, rows),
                             tensor_from_ints({4}, kBool, columns)};
    return ops::evaluate(*module, module->functions.at("main"), inputs).at(0);
  }

  // The elements chosen, in their order.
  void expect(const std::vector<std::int64_t>& shape) {
    const Tensor y = result();
    EXPECT_EQ(y.shape, shape);
    ASSERT_EQ(y.num_elements(), 12);
    const double wanted[] = {2, 3, 4, 5, 6, 7, 18, 19, 20, 21, 22, 23};
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(element_as_double(y, i), wanted[i]) << i;
  }

  TestModel m_;
};

TEST_F(DataSizes, Unsqueeze) {
  m_.ints("axes", {0, 3});
  m_.node("Unsqueeze", {"v", "axes"}, {"y"});
  expect({1, 2, 3, 1, 2});
}

TEST_F(DataSizes, FlattenBehindThem) {
  axis_of(m_.node("Flatten", {"v"}, {"y"}), 2);
  expect({6, 2});
}

TEST_F(DataSizes, FlattenBetweenThem) {
  axis_of(m_.node("Flatten", {"v"}, {"y"}), 1);
  expect({2, 6});
}

TEST_F(DataSizes, FlattenAll) {
  axis_of(m_.node("Flatten", {"v"}, {"y"}), 0);
  expect({1, 12});
}

TEST_F(DataSizes, Tile) {
  m_.ints("once", {1, 1, 1});
  m_.node("Shape", {"v"}, {"sizes"});
  m_.node("Div", {"sizes", "sizes"}, {"times"});
  m_.node("Mul", {"times", "once"}, {"reps"});
  m_.node("Tile", {"v", "reps"}, {"y"});
  expect({2, 3, 2});
}

// Every element of the second dimension twice.
TEST_F(DataSizes, Resize) {
  m_.floats("scales", {3}, {1, 2, 1});
  m_.node("Resize", {"v", "", "scales"}, {"y"});
  const Tensor y = result();
  EXPECT_EQ(y.shape, (std::vector<std::int64_t>{2, 6, 2}));
  const double wanted[] = {2, 3, 2, 3, 4, 5, 4, 5, 6, 7, 6, 7};
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(element_as_double(y, i), wanted[i]) << i;
    EXPECT_EQ(element_as_double(y, i + 12), wanted[i] + 16) << i;
  }
}

struct DataSizesOfOld : DataSizes {
  DataSizesOfOld() : DataSizes(12) {}
};

// Until opset 12 all dimensions from the axis on are one.
TEST_F(DataSizesOfOld, Softmax) {
  axis_of(m_.node("Softmax", {"v"}, {"y"}), 1);
  const Tensor y = result();
  EXPECT_EQ(y.shape, (std::vector<std::int64_t>{2, 3, 2}));
  double sum = 0;
  for (std::int64_t i = 0; i < 6; ++i) sum += element_as_double(y, i);
  EXPECT_NEAR(sum, 1, 1e-6);
}

}  // namespace
}  // namespace tessera::import
