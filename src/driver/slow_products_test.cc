// SPDX-License-Identifier: Apache-2.0
#include "driver/slow_products.h"

#include <gtest/gtest.h>

#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "support/files.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class SlowProducts : public testing::ModelTest {
 protected:
  // What is told of a module that back ends of these names have left as it is.
  std::optional<Diagnostic> told(const std::string& text, std::vector<std::string> tried) {
    const std::string path = folder_.file("m.relay");
    EXPECT_TRUE(write_atomically(path, "#[version = \"0.0.5\"]\n" + text));
    return slow_products(value_of(load_model(path, {})), {std::move(tried), {}});
  }
};

TEST_F(SlowProducts, AreToldWithTheReason) {
  const std::string model =
      "def @main(%x: Tensor[(512, 256), int32], %w: Tensor[(128, 256), int32], "
      "%v: Tensor[(512, 128), int32]) {\n"
      "  %0 = nn.dense(%x, %w, units=128);\n  nn.dense(%v, %0, units=512)\n}\n";
  const auto warning = told(model, {"onednn", "blas"});
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->code, Code::kSlowCode);
  EXPECT_EQ(warning->severity, Severity::kWarning);
  EXPECT_NE(warning->message.find("takes 2 of the model's large"), std::string::npos);
  EXPECT_NE(warning->message.find("`nn.dense` with 34 million multiplications: no pattern of "
                                  "onednn, blas fits `nn.dense`"),
            std::string::npos)
      << warning->message;
  ASSERT_EQ(warning->notes.size(), 1u);
  EXPECT_NE(warning->notes[0].message.find("17 million"), std::string::npos);
  EXPECT_FALSE(warning->remedy.empty());
  const auto unasked = told(model, {});
  ASSERT_TRUE(unasked);
  EXPECT_NE(unasked->remedy.find("`tessera backends`"), std::string::npos) << unasked->remedy;
}

TEST_F(SlowProducts, SmallOnesAreNot) {
  EXPECT_FALSE(
      told("def @main(%x: Tensor[(16, 64), int32], %w: Tensor[(64, 64), int32]) {\n"
           "  nn.dense(%x, %w, units=64)\n}\n",
           {"onednn"}));
}

TEST_F(SlowProducts, TransposedConvolutionsCountTheirData) {
  const auto warning = told(
      "def @main(%x: Tensor[(1, 64, 32, 32), int32], %w: Tensor[(64, 16, 4, 4), int32]) {\n"
      "  nn.conv2d_transpose(%x, %w, strides=[4, 4])\n}\n",
      {"onednn"});
  ASSERT_TRUE(warning);
  EXPECT_NE(warning->message.find("17 million"), std::string::npos) << warning->message;
}

// A table of 64 rows that is sliced to the sequence: up to there all sizes follow from the inputs'.
TEST_F(SlowProducts, OfUnknownSizesNameTheRangeThatHelps) {
  const std::string model =
      "def @main(%x: Tensor[(?seq, 256), float32], %y: Tensor[(?rows, 256), float32], "
      "%t: Tensor[({}, 256), float32], %w: Tensor[(256, 256), float32]) {{\n"
      "  %0 = add(%x, %y);\n  %1 = nn.dense(%0, %w, units=256);\n  (%1, %t)\n}}\n";
  const auto bounded = told(fmt::format(fmt::runtime(model), "?(min(64, seq))"), {"onednn"});
  ASSERT_TRUE(bounded);
  EXPECT_NE(bounded->remedy.find("give --dim seq=1..64, "), std::string::npos) << bounded->remedy;
  const auto open = told(fmt::format(fmt::runtime(model), "64"), {"onednn"});
  ASSERT_TRUE(open);
  EXPECT_NE(open->remedy.find("--dim rows=... --dim seq=..."), std::string::npos) << open->remedy;
}

}  // namespace
}  // namespace tessera::driver
