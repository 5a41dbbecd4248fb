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

std::string text_of(const Case& c) {
  return fmt::format(
      "def @main(%x: Tensor[({}), float32]) {{\n"
      "  %0 = sin(arange(0f, {}f, 1f));\n"
      "  {}(%x, reshape(%0, newshape=[{}]){})\n}}\n",
      c.data, c.elements, c.op, c.weight, c.attrs);
}

// Sizes that are open stay as they are named.
class OpenTransposedConv : public testing::DynamicShapes {};
TEST_F(OpenTransposedConv, GivesTheSameNumbers) {
  for (const Partition partition : {Partition::kGreedy, Partition::kNone}) {
    options_.partition = partition;
    options_.dump_dir = folder_.file(std::string(to_string(partition)));
    compile_text(text_of({"nn.conv2d_transpose", "?n, 16, ?h, ?w", "16, 16, 3, 3", 2304,
                          ", strides=[2, 2], padding=[1, 1, 1, 1], output_padding=[1, 1]"}));
    EXPECT_EQ(read_file(options_.dump_dir + "/loops.tir")->find("nn.conv2d_transpose"),
              std::string::npos);
    for (const std::int64_t h : {1, 2, 7}) expect_right({{"n", h}, {"h", h}, {"w", 5}});
  }
}

// What is left for native code.
// A convolution of nothing would have no room for its window.
TEST_F(OpenTransposedConv, OfNothingIsNothing) {
  options_.partition = Partition::kNone;
  for (const char* attrs :
       {", strides=[2, 2]", ", strides=[1, 1]", ", strides=[3, 2], output_padding=[1, 0]"}) {
    compile_text("#[symbol n = 0..]\n#[symbol h = 0..]\n#[symbol w = 0..]\n" +
                 text_of({"nn.conv2d_transpose", "?n, 16, ?h, ?w", "16, 16, 2, 2", 1024, attrs}));
    for (const std::int64_t h : {0, 1, 4}) {
      for (const std::int64_t w : {0, 1, 5}) expect_right({{"n", 2}, {"h", h}, {"w", w}});
    }
    expect_right({{"n", 0}, {"h", 3}, {"w", 2}});
  }
}

class TransposedConv : public testing::DynamicShapes, public ::testing::WithParamInterface<Case> {};

TEST_P(TransposedConv, GivesTheSameNumbers) {
  const Case& c = GetParam();
  options_.partition = Partition::kNone;
  options_.dump_dir = folder_.file("dump");
  compile_text(text_of(c));
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
             ", strides=[2, 1, 2], padding=[1, 0, 0]"},
        // Enough channels for a convolution for each size of windows.
        Case{"nn.conv2d_transpose", "1, 16, 3, 4", "16, 16, 3, 3", 2304,
             ", strides=[2, 2], padding=[1, 1], output_padding=[1, 1]"},
        Case{"nn.conv2d_transpose", "2, 16, 3, 2", "16, 16, 5, 4", 5120,
             ", strides=[3, 2], padding=[2, 0, 1, 2], output_padding=[2, 0]"},
        // Windows that begin behind the first element, and end before the last.
        Case{"nn.conv2d_transpose", "1, 16, 6, 5", "16, 16, 3, 2", 1536,
             ", strides=[2, 2], padding=[2, 3, 4, 1]"},
        Case{"nn.conv1d_transpose", "1, 4, 9", "4, 4, 2", 32, ", strides=[3], padding=[4, 7]"},
        Case{"nn.conv2d_transpose", "1, 16, 6, 5", "16, 16, 2, 2", 1024, ", padding=[2, 1, 3, 2]"},
        Case{"nn.conv2d_transpose", "1, 4, 0, 5", "4, 4, 2, 2", 64, ", strides=[2, 2]"},
        // Phases of which the kernel has nothing.
        Case{"nn.conv2d_transpose", "1, 16, 3, 4", "16, 16, 1, 2", 512,
             ", strides=[2, 3], output_padding=[1, 2]"},
        Case{"nn.conv2d_transpose", "1, 32, 4, 3", "32, 16, 3, 3", 4608,
             ", groups=2, strides=[2, 2], padding=[1, 1]"},
        // Each phase has windows at other places of the data.
        Case{"nn.conv2d_transpose", "1, 16, 6, 5", "16, 16, 3, 4", 3072,
             ", strides=[2, 3], dilation=[3, 2], padding=[1, 2, 3, 0], output_padding=[1, 1]"},
        Case{"nn.conv3d_transpose", "1, 16, 3, 2, 3", "16, 16, 3, 2, 3", 4608,
             ", strides=[2, 2, 1], padding=[1, 0, 1]"},
        Case{"nn.conv2d_transpose", "2, 3, 4, 16", "3, 3, 16, 16", 2304,
             ", strides=[2, 2], data_layout=\"NHWC\", kernel_layout=\"HWOI\""},
        Case{"nn.conv2d_transpose", "1, 4, 3, 5", "4, 2, 3, 3", 72,
             ", strides=[2, 1], out_layout=\"NHWC\", kernel_layout=\"IOHW\""}));

// Weights that each run brings, doubles, and a factor that strides and dilation share, for which
// there is no such convolution.
class OtherTransposedConv : public testing::DynamicShapes {};
TEST_F(OtherTransposedConv, GivesTheSameNumbers) {
  options_.partition = Partition::kNone;
  for (const char* parameters :
       {"%x: Tensor[(1, 16, 3, 4), float32], %w: Tensor[(16, 16, 3, 3), float32]",
        "%x: Tensor[(1, 3, 3, 4), float64], %w: Tensor[(3, 2, 3, 3), float64]"}) {
    for (const char* attrs :
         {"strides=[2, 2], padding=[1, 1]", "strides=[2, 1], dilation=[4, 1]"}) {
      compile_text(fmt::format("def @main({}) {{\n  nn.conv2d_transpose(%x, %w, {})\n}}\n",
                               parameters, attrs));
      expect_right({});
    }
  }
}

}  // namespace
}  // namespace tessera::driver
