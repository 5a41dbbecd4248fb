// SPDX-License-Identifier: Apache-2.0
// Convolutions in groups by tensor cores: against the reference, in all forms in which they come,
// and in the form that emitters know again.
#include <chrono>

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/device.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"
#include "tir/verify_teams.h"
#include "tir/window_product.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

tir::PrimFunc grouped_kernel(const relay::Function& f, const Device& device = {}) {
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_device_kernel(*plain, device);
}

std::optional<tir::WindowProduct> window_product_of(const tir::PrimFunc& kernel) {
  std::optional<tir::WindowProduct> found;
  tir::Bounds bounds;
  tir::for_each_node(kernel.body, [&](const tir::Stmt& s) {
    const auto* loop = s.as<tir::For>();
    if (loop == nullptr) return;
    if (loop->loop == tir::ForKind::kBlocks) bounds.set_loop(loop->var, loop->min, loop->extent);
    if (auto product = tir::as_window_product(*loop, bounds)) found = std::move(product);
  });
  return found;
}

constexpr const char* kChannelsLast = "data_layout=\"NHWC\", kernel_layout=\"HWIO\"";
std::string grouped_text(const char* image, const char* weight, const char* attributes) {
  return fmt::format("nn.conv2d({}, {}, {}, {})", image, weight, attributes, kChannelsLast);
}

class DeviceGroupedForms : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceGroupedForms, EqualsEvalAndStaysInside) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const tir::PrimFunc kernel = grouped_kernel(f);
  const std::string text = tir::print(kernel, "kernel");
  const auto product = window_product_of(kernel);
  ASSERT_TRUE(product.has_value()) << text;
  EXPECT_LE(tir::window_product_bytes(*product), tir::kSharedBytes);
  const auto valid = tir::verify(kernel, "kernel");
  ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
  EXPECT_EQ(tir::verify_teams(kernel), std::vector<std::string>{}) << text;
  EXPECT_EQ(tir::unproven_accesses(kernel), std::vector<std::string>{}) << text;
  const auto expected = run::evaluated(f, inputs), found = run::interpreted(kernel, inputs);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(ops::relative_difference(found[i], expected[i]),
              ops::operator_tolerance(expected[i].dtype))
        << text;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceGroupedForms,
    ::testing::Values(
        grouped_text("float16[1,9,8,32]", "float16[3,3,16,32]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("float16[2,5,5,64]", "float16[3,3,32,16]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("bfloat16[4,5,5,32]", "bfloat16[3,3,8,32]", "groups=4, padding=[1,1,1,1]"),
        // Sizes that no tile divides, borders of which some sides have none, strides, places that
        // lie apart.
        grouped_text("float16[1,11,9,64]", "float16[3,3,32,32]",
                     "groups=2, strides=[2,2], padding=[1,1,1,1]"),
        grouped_text("float16[2,5,6,48]", "float16[3,3,24,48]", "groups=2, padding=[0,2,1,0]"),
        grouped_text("float16[1,9,8,32]", "float16[3,3,16,32]",
                     "groups=2, padding=[2,2,2,2], dilation=[2,2]"),
        grouped_text("bfloat16[1,12,17,32]", "bfloat16[5,3,16,32]",
                     "groups=2, strides=[2,3], padding=[2,1,2,1], dilation=[1,2]"),
        grouped_text("float16[1,80,3,32]", "float16[3,3,16,16]", "groups=2"),
        // Groups whose weights come in steps, of other results than channels.
        grouped_text("float16[1,3,5,96]", "float16[3,3,48,96]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("float16[1,3,4,128]", "float16[3,3,64,96]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("float16[1,7,6,32]", "float16[3,3,16,80]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("float16[1,4,6,96]", "float16[3,3,32,24]", "groups=3, padding=[1,1,1,1]"),
        // Of one place, one row, one window.
        grouped_text("float16[2,1,1,32]", "float16[3,3,16,32]", "groups=2, padding=[1,1,1,1]"),
        grouped_text("float16[1,1,9,32]", "float16[1,3,16,32]", "groups=2, padding=[0,1,0,1]"),
        grouped_text("float16[2,6,6,32]", "float16[1,1,16,32]", "groups=2, strides=[2,2]"),
        std::string(
            "def @main(%x: Tensor[(2, 7, 5, 64), float16], %w: Tensor[(3, 3, 16, 64), float16],"
            " %b: Tensor[(64), float16], %r: Tensor[(2, 7, 5, 64), float16]) {\n"
            "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=4, data_layout=\"NHWC\","
            " kernel_layout=\"HWIO\");\n  nn.relu(add(add(%0, %b), %r))\n}\n"),
        std::string(
            "def @main(%x: Tensor[(1, 5, 4, 64), float16], %w: Tensor[(3, 3, 32, 32), float16]) {\n"
            "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], groups=2, data_layout=\"NHWC\","
            " kernel_layout=\"HWIO\");\n  (%0, nn.relu(%0))\n}\n")),
    [](const auto& info) { return fmt::format("{}", info.index); });

// What it does not compute, it leaves to others.
TEST(DeviceGroupedRules, LeaveOtherConvolutions) {
  for (const std::string& text :
       {grouped_text("float16[1,9,9,32]", "float16[3,3,4,32]", "groups=8"),
        grouped_text("float16[1,9,9,32]", "float16[3,3,1,32]", "groups=32"),
        grouped_text("float16[1,9,9,32]", "float16[3,3,16,36]", "groups=2"),
        grouped_text("float16[1,9,9,40]", "float16[3,3,20,32]", "groups=2"),
        grouped_text("float32[1,9,9,32]", "float32[3,3,16,32]", "groups=2"),
        grouped_text("float16[1,9,9,32]", "float16[3,3,32,32]", "groups=1"),
        std::string("nn.conv2d(float16[1,32,9,9], float16[32,16,3,3], groups=2)"),
        std::string(
            "def @main(%x: Tensor[(1, 7, 9, 32), float16], %w: Tensor[(3, 3, 16, 32), float16]) {\n"
            "  %0 = nn.pad(%x, 1f, pad_width=[[0, 0], [1, 1], [1, 1], [0, 0]]);\n"
            "  nn.conv2d(%0, %w, groups=2, data_layout=\"NHWC\", kernel_layout=\"HWIO\")\n}\n")}) {
    const tir::PrimFunc kernel = grouped_kernel(run::function_of(text));
    EXPECT_FALSE(window_product_of(kernel)) << tir::print(kernel, "kernel");
  }
  const auto f = run::function_of(
      grouped_text("float16[1,9,9,32]", "float16[3,3,16,32]", "groups=2, padding=[1,1,1,1]"));
  EXPECT_TRUE(window_product_of(grouped_kernel(f)));
  EXPECT_FALSE(window_product_of(grouped_kernel(f, {1 << 16, false})))
      << "there are no tensor cores";
}

// Loop text may say anything: a window that does not move is none, and nothing is divided by it.
TEST(DeviceGroupedRules, ProductsOfImpossibleStepsDoNotFit) {
  const auto f = run::function_of(
      grouped_text("float16[1,9,9,32]", "float16[3,3,16,32]", "groups=2, padding=[1,1,1,1]"));
  const auto product = window_product_of(grouped_kernel(f));
  ASSERT_TRUE(product);
  EXPECT_TRUE(tir::fits(*product));
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 60}) {
    for (std::int64_t tir::WindowSteps::*which :
         {&tir::WindowSteps::stride, &tir::WindowSteps::dilation}) {
      tir::WindowProduct other = *product;
      other.across.*which = step;
      EXPECT_FALSE(tir::fits(other)) << step;
      other.across = product->across;
      other.down.*which = step;
      EXPECT_FALSE(tir::fits(other)) << step;
    }
  }
}

// Choosing a tile takes no longer for a large image than for a small one.
TEST(DeviceGroupedRules, LargeImagesAreNoWork) {
  const auto begin = std::chrono::steady_clock::now();
  grouped_kernel(
      run::function_of(grouped_text("float16[1,64,2097152,16]", "float16[3,3,8,16]", "groups=2")));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

// A block has enough to do, and there are blocks for all of a device.
TEST(DeviceGroupedTiles, KeepADeviceBusy) {
  for (const char* text :
       {"nn.conv2d(float16[32,14,14,512], float16[3,3,16,512], groups=32, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[32,14,14,1024], float16[3,3,32,1024], groups=32, strides=[2,2], "
        "padding=[1,1,1,1], data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
        "nn.conv2d(float16[32,7,7,1024], float16[3,3,32,1024], groups=32, padding=[1,1,1,1], "
        "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"}) {
    const tir::PrimFunc kernel = grouped_kernel(run::function_of(text));
    const auto product = window_product_of(kernel);
    ASSERT_TRUE(product) << text;
    const auto* launch = kernel.body.as<tir::For>();
    ASSERT_NE(launch, nullptr);
    EXPECT_GE(*tir::as_int(launch->extent), 132) << tir::print(kernel, "kernel");
    EXPECT_GE(product->images() * product->rows() * product->columns(), 16);
  }
}

}  // namespace
}  // namespace tessera::schedule
