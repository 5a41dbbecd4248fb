// SPDX-License-Identifier: Apache-2.0
// Sizes that a model leaves open may be 0, unless what it computes of nothing is not defined.
#include "import/needed_elements.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "import/testing/model.h"

namespace tessera::import {
namespace {

// x: float32[n, k, 3], of any n and k.
TestModel open_model() {
  TestModel m;
  m.input("x", {1, 1, 3});
  auto* shape = m.proto.mutable_graph()
                    ->mutable_input(0)
                    ->mutable_type()
                    ->mutable_tensor_type()
                    ->mutable_shape();
  shape->mutable_dim(0)->set_dim_param("n");
  shape->mutable_dim(1)->set_dim_param("k");
  return m;
}

// "n 0, k 1": the smallest sizes.
std::string smallest(const TestModel& m) {
  const auto module = m.import();
  if (!module) return render(module.error());
  std::string text;
  for (const auto& [name, s] : module->symbols) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, s.min);
  }
  return text;
}

std::string smallest_of(const std::string& op, std::int64_t axis) {
  TestModel m = open_model();
  onnx::NodeProto* node = m.node(op, {"x"}, {"y"});
  if (op.starts_with("Reduce")) {
    set_ints(node, "axes", {axis});
  } else {
    set_int(node, "axis", axis);
  }
  m.output("y");
  return smallest(m);
}

TEST(NeededElements, WhatAMeanGoesOver) {
  EXPECT_EQ(smallest_of("ReduceMean", 1), "k 1, n 0");
  EXPECT_EQ(smallest_of("ReduceMean", 2), "k 0, n 0");
  EXPECT_EQ(smallest_of("ArgMax", 0), "k 0, n 1");
}

TEST(NeededElements, NothingWhereThereIsAResultOfNothing) {
  EXPECT_EQ(smallest_of("ReduceMax", 1), "k 0, n 0");
  EXPECT_EQ(smallest_of("ReduceProd", 0), "k 0, n 0");
  EXPECT_EQ(smallest_of("Softmax", 1), "k 0, n 0");
}

// 12 / k, as `Shape` and `Div` compute it.
TEST(NeededElements, WhatASizeIsDividedBy) {
  TestModel m = open_model();
  m.ints("axis", {1});
  m.ints("twelve", {12});
  m.node("Shape", {"x"}, {"sizes"});
  m.node("Gather", {"sizes", "axis"}, {"size"});
  m.node("Div", {"twelve", "size"}, {"y"});
  m.output("y");
  EXPECT_EQ(smallest(m), "k 1, n 0");
}

}  // namespace
}  // namespace tessera::import
