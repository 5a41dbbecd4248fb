// SPDX-License-Identifier: Apache-2.0
// Which passes the targets ask for.
#include "driver/pipeline.h"

#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/lack_of.h"
#include "driver/load_model.h"
#include "driver/placement.h"
#include "driver/testing/model_test.h"
#include "module/text.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class Pipeline : public testing::ModelTest {
 protected:
  std::string optimized(const std::string& text, const std::vector<std::string>& targets) {
    CompileOptions o;
    o.model = folder_.file("m.relay");
    o.targets = value_of(parse_targets(targets));
    EXPECT_TRUE(write_atomically(o.model, "#[version = \"0.0.5\"]\n" + text));
    std::vector<Diagnostic> warnings;
    return print(value_of(optimize_graph(value_of(load_model(o.model, {})), o, warnings)));
  }
};

TEST_F(Pipeline, IntegersStayNarrowWhereABackEndMultipliesThem) {
  const std::string model =
      "def @main(%x: Tensor[(64, 64), int8], %w: Tensor[(64, 64), int8]) {\n"
      "  nn.dense(cast(%x, dtype=\"int32\"), cast(%w, dtype=\"int32\"), units=64)\n}\n";
  const auto is_narrow = [&](const std::vector<std::string>& targets) {
    return optimized(model, targets).find("out_dtype=\"int32\"") != std::string::npos;
  };
  EXPECT_FALSE(is_narrow({"cpu"}));
  EXPECT_FALSE(is_narrow({"cuda"}));
  const byoc::Backend* cutlass = backends::find_backend("cutlass");
  ASSERT_NE(cutlass, nullptr);
  EXPECT_EQ(is_narrow({"cuda", "cutlass"}), !lack_of(*cutlass, Target("cutlass")));
}

TEST_F(Pipeline, LayoutsChangeWhereABackEndNeedsThem) {
  const auto desired = [](const std::vector<std::string>& targets,
                          Partition partition = Partition::kGreedy) {
    CompileOptions o;
    o.targets = value_of(parse_targets(targets));
    o.partition = partition;
    return desired_layouts(o);
  };
  EXPECT_TRUE(desired({"cpu"}).empty());
  EXPECT_TRUE(desired({"cpu", "onednn"}).empty());
  EXPECT_TRUE(desired({"cuda"}).empty());
  EXPECT_TRUE(desired({"cuda", "cutlass"}, Partition::kNone).empty());
  const byoc::Backend* cutlass = backends::find_backend("cutlass");
  ASSERT_NE(cutlass, nullptr);
  if (lack_of(*cutlass, Target("cutlass"))) {
    EXPECT_TRUE(desired({"cuda", "cutlass"}).empty());
  } else {
    EXPECT_EQ(desired({"cuda", "cutlass"}),
              (std::vector<std::string>{"nn.conv2d:NHWC:OHWI", "nn.conv2d_transpose:NHWC:IHWO"}));
  }
  const byoc::Backend* cudnn = backends::find_backend("cudnn");
  ASSERT_NE(cudnn, nullptr);
  if (!lack_of(*cutlass, Target("cutlass")) && !lack_of(*cudnn, Target("cudnn"))) {
    // Who comes later says more of the same layout.
    EXPECT_EQ(desired({"cuda", "cutlass", "cudnn"}),
              (std::vector<std::string>{"nn.conv1d:NWC:OWI:OWI", "nn.conv2d:NHWC:OHWI:OHWI",
                                        "nn.conv2d_transpose:NHWC:IHWO"}));
  }
}

TEST_F(Pipeline, NormsAreFoldedWhereABackEndScalesRows) {
  const auto is_folded = [](const std::vector<std::string>& targets) {
    CompileOptions o;
    o.targets = value_of(parse_targets(targets));
    return scales_rows(o);
  };
  EXPECT_FALSE(is_folded({"cpu", "onednn", "blas"}));
  EXPECT_FALSE(is_folded({"cuda"}));
  const byoc::Backend* cutlass = backends::find_backend("cutlass");
  ASSERT_NE(cutlass, nullptr);
  EXPECT_EQ(is_folded({"cuda", "cutlass"}), !lack_of(*cutlass, Target("cutlass")));
  EXPECT_FALSE(is_folded({"cuda", "cutlass -fold_norms=false"}));
}

TEST_F(Pipeline, ConvolutionsChangeTheirLayoutWithOneTransposeInFront) {
  CompileOptions o;
  o.model = folder_.file("m.relay");
  EXPECT_TRUE(write_atomically(
      o.model,
      "#[version = \"0.0.5\"]\n"
      "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32],\n"
      "          %v: Tensor[(4, 1, 3, 3), float32]) {\n"
      "  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));\n"
      "  %1 = nn.conv2d(%0, %v, groups=4, padding=[1, 1]);\n"
      "  reshape(nn.global_avg_pool2d(add(%0, %1)), newshape=[1, 4])\n}\n"));
  std::vector<Diagnostic> warnings;
  const std::string text = print(value_of(
      convert_layouts(value_of(load_model(o.model, {})), {"nn.conv2d:NHWC:OHWI"}, o, warnings)));
  EXPECT_NE(text.find("kernel_layout=\"OHWI\""), std::string::npos) << text;
  EXPECT_NE(text.find("kernel_layout=\"HWIO\""), std::string::npos) << text;
  EXPECT_NE(text.find("[0, 1]]"), std::string::npos) << text;  // a fourth channel of the image
  int transposes = 0;
  for (std::size_t at = 0; (at = text.find("transpose(", at)) != std::string::npos; ++at) {
    ++transposes;
  }
  EXPECT_EQ(transposes, 3) << text;  // of %x and of the kernels, which are no constants
}

}  // namespace
}  // namespace tessera::driver
