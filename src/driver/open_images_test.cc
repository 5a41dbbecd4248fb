// SPDX-License-Identifier: Apache-2.0
// Convolutions of images of open sizes by native code: lines that fill tiles, and those that do
// not.
#include <fmt/format.h>

#include "driver/testing/dynamic_shapes.h"

namespace tessera::driver {
namespace {

struct Case {
  const char* data;
  const char* weight;
  int elements;  // of the weight
  const char* convolution;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.convolution << " of " << c.weight; }

class OpenImages : public testing::DynamicShapes, public ::testing::WithParamInterface<Case> {};

// The image is added to the result where it has its shape, which may lie in its memory.
TEST_P(OpenImages, GiveTheSameNumbers) {
  const Case& c = GetParam();
  options_.partition = Partition::kNone;
  options_.dump_dir = folder_.file("dump");
  compile_text(
      fmt::format("def @main(%x: Tensor[({}), float32]) {{\n"
                  "  %0 = reshape(sin(arange(0f, {}f, 1f)), newshape=[{}]);\n"
                  "  %1 = nn.relu(%x);\n  {}\n}}\n",
                  c.data, c.elements, c.weight, c.convolution));
  const auto loops = read_file(options_.dump_dir + "/loops.tir");
  ASSERT_TRUE(loops);
  EXPECT_NE(loops->find("\"tile"), std::string::npos);
  for (const std::int64_t w : {1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25}) {
    std::map<std::string, std::int64_t> sizes;
    for (const auto& [name, size] : std::map<std::string, std::int64_t>{
             {"n", w % 2 + 1}, {"d", 2}, {"h", w % 5 + 2}, {"w", w}}) {
      if (std::string_view(c.data).find(name) != std::string_view::npos) sizes[name] = size;
    }
    expect_right(sizes);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, OpenImages,
    ::testing::Values(Case{"1, 16, ?h, ?w", "16, 16, 3, 3", 2304,
                           "add(nn.relu(nn.conv2d(%1, %0, padding=[1, 1, 1, 1])), %1)"},
                      Case{"?n, 16, ?h, ?w", "33, 16, 3, 4", 6336,
                           "nn.conv2d(%1, %0, strides=[2, 3], padding=[1, 2])"},
                      Case{"?n, ?h, ?w, 16", "3, 3, 16, 24", 3456,
                           "tanh(nn.conv2d(%1, %0, data_layout=\"NHWC\", kernel_layout=\"HWIO\", "
                           "dilation=[2, 2], padding=[2, 2]))"},
                      Case{"?n, 64, ?h, ?w", "64, 64, 1, 1", 4096, "add(nn.conv2d(%1, %0), %1)"},
                      Case{"1, 64, ?w", "160, 64, 5", 51200, "nn.conv1d(%1, %0, padding=[2, 2])"},
                      Case{"1, 8, ?d, ?h, ?w", "16, 8, 1, 3, 3", 1152,
                           "nn.conv3d(%1, %0, padding=[0, 1, 1])"}));

}  // namespace
}  // namespace tessera::driver
