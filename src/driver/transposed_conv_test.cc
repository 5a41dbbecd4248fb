// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions with known weights, which are convolutions on a CPU.
#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"

namespace tessera::driver {
namespace {

struct Case {
  const char* op;
  const char* data;
  const char* weight;
  int elements;  // of the weight
  const char* attrs;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.op << " of " << c.weight << c.attrs; }

// Sizes that are open stay as they are named.
class OpenTransposedConv : public testing::DynamicShapes {};
TEST_F(OpenTransposedConv, GivesTheSameNumbers) {
  options_.dump_dir = folder_.file("dump");
  compile_text(
      "def @main(%x: Tensor[(?n, 4, ?h, ?w), float32]) {\n"
      "  %0 = sin(arange(0f, 144f, 1f));\n"
      "  %1 = nn.conv2d_transpose(%x, reshape(%0, newshape=[4, 4, 3, 3]), strides=[2, 2], "
      "padding=[1, 1, 1, 1], output_padding=[1, 1]);\n"
      "  nn.relu(%1)\n}\n");
  EXPECT_EQ(read_file(options_.dump_dir + "/loops.tir")->find("nn.conv2d_transpose"),
            std::string::npos);
  for (const std::int64_t h : {1, 2, 7}) expect_right({{"n", h}, {"h", h}, {"w", 5}});
}

class TransposedConv : public testing::DynamicShapes, public ::testing::WithParamInterface<Case> {};

TEST_P(TransposedConv, GivesTheSameNumbers) {
  const Case& c = GetParam();
  options_.dump_dir = folder_.file("dump");
  compile_text(
      fmt::format("def @main(%x: Tensor[({}), float32]) {{\n"
                  "  %0 = sin(arange(0f, {}f, 1f));\n"
                  "  {}(%x, reshape(%0, newshape=[{}]){})\n}}\n",
                  c.data, c.elements, c.op, c.weight, c.attrs));
  expect_right({});
  const auto loops = read_file(options_.dump_dir + "/loops.tir");
  ASSERT_TRUE(loops);
  EXPECT_EQ(loops->find(c.op), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    All, TransposedConv,
    ::testing::Values(
        Case{"nn.conv2d_transpose", "2, 3, 5, 4", "3, 2, 3, 2", 36, ""},
        Case{"nn.conv2d_transpose", "1, 2, 3, 3", "2, 3, 3, 3", 54,
             ", strides=[3, 2], padding=[1, 1], output_padding=[1, 0]"},
        Case{"nn.conv2d_transpose", "2, 4, 5, 3", "4, 3, 4, 5", 240,
             ", groups=2, strides=[2, 3], padding=[1, 2, 0, 1], output_padding=[1, 2]"},
        Case{"nn.conv2d_transpose", "1, 3, 6, 5", "3, 4, 3, 5", 180,
             ", dilation=[2, 2], padding=[2, 3, 1, 0]"},
        Case{"nn.conv2d_transpose", "1, 3, 6, 5", "3, 4, 2, 2", 48, ", strides=[3, 4]"},
        Case{"nn.conv1d_transpose", "2, 3, 7", "3, 5, 4", 60, ", strides=[2], padding=[3, 1]"},
        Case{"nn.conv3d_transpose", "1, 2, 3, 2, 3", "2, 2, 3, 2, 2", 48,
             ", strides=[2, 1, 2], padding=[1, 0, 0]"}));

}  // namespace
}  // namespace tessera::driver
