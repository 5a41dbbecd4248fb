// SPDX-License-Identifier: Apache-2.0
// Work with several algorithms: what was measured decides, and a rule where nothing was.
#include "schedule/algorithms.h"

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/device.h"
#include "schedule/schedule.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;
using Fastest = MeasuredAlgorithms::Fastest;
using Names = std::vector<std::string>;

// What was done with a convolution whose weight is a constant.
std::string done_with(const char* text, const Machine& machine) {
  const auto plain = lower::lower_primitive(run::function_of(text), relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_kernel(*plain, machine, {plain->inputs[1]}).kernel.attrs.at("schedule");
}
std::string done_with(const char* text, const Device& device) {
  const auto plain = lower::lower_primitive(run::function_of(text), relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_device_kernel(*plain, device, {plain->inputs[1]}).kernel.attrs.at("schedule");
}

constexpr const char* kLarge =
    "nn.conv2d(float32[2,64,56,40], float32[128,64,3,3], padding=[1,1,1,1])";
constexpr const char* kWorkOfLarge = "conv2d 3x3 float32 images=2 in=64 out=128 rows=56 columns=40";
constexpr const char* kSmall =
    "nn.conv2d(float32[1,16,8,8], float32[16,16,3,3], padding=[1,1,1,1])";
constexpr const char* kWorkOfSmall = "conv2d 3x3 float32 images=1 in=16 out=16 rows=8 columns=8";

Machine machine_with(MeasuredAlgorithms& measured) {
  Machine machine{64, 32};
  machine.measured = &measured;
  return machine;
}
Device device_with(MeasuredAlgorithms& measured) {
  Device device;
  device.measured = &measured;
  return device;
}

TEST(Algorithms, AreChosenByARuleWhereNothingWasMeasured) {
  MeasuredAlgorithms nothing;
  EXPECT_TRUE(done_with(kLarge, machine_with(nothing)).starts_with("winograd 4x4"));
  EXPECT_TRUE(done_with(kSmall, machine_with(nothing)).starts_with("tile"));
  ASSERT_EQ(nothing.asked().size(), 2u);
  EXPECT_EQ(nothing.asked()[0].workload, kWorkOfLarge);
  EXPECT_EQ(nothing.asked()[0].algorithms, (Names{"winograd_4x4", "direct", "winograd_2x2"}));
  EXPECT_EQ(nothing.asked()[1].workload, kWorkOfSmall);
  EXPECT_EQ(nothing.asked()[1].algorithms, (Names{"direct", "winograd_2x2", "winograd_4x4"}));
  EXPECT_TRUE(nothing.is_any_unknown());
}

TEST(Algorithms, AreThoseThatWereMeasuredFastest) {
  for (const auto& [algorithm, begin] :
       {std::pair("direct", "tile"), std::pair("winograd_2x2", "winograd 2x2"),
        std::pair("winograd_4x4", "winograd 4x4")}) {
    MeasuredAlgorithms measured(Fastest{{kWorkOfLarge, algorithm}, {kWorkOfSmall, algorithm}});
    for (const char* text : {kLarge, kSmall}) {
      EXPECT_TRUE(done_with(text, machine_with(measured)).starts_with(begin)) << algorithm;
    }
    EXPECT_FALSE(measured.is_any_unknown());
  }
}

// Whoever says how has their way, and nothing is asked for.
TEST(Algorithms, AreNotAskedForWhereTheTargetSaysWhich) {
  MeasuredAlgorithms measured(Fastest{{kWorkOfLarge, "winograd_4x4"}});
  Machine machine = machine_with(measured);
  machine.winograd_tile = 2;
  EXPECT_TRUE(done_with(kLarge, machine).starts_with("winograd 2x2"));
  machine.winograd_tile = 0;
  EXPECT_TRUE(done_with(kLarge, machine).starts_with("tile"));
  EXPECT_TRUE(measured.asked().empty());
}

// What is not exact enough is none of them, whatever a record says.
TEST(Algorithms, AreExactEnough) {
  const char* many = "nn.conv2d(float32[1,513,16,16], float32[32,513,3,3])";
  const std::string work = "conv2d 3x3 float32 images=1 in=513 out=32 rows=14 columns=14";
  MeasuredAlgorithms lies(Fastest{{work, "winograd_4x4"}});
  EXPECT_EQ(done_with(many, machine_with(lies)).find("winograd 4x4"), std::string::npos);
  ASSERT_EQ(lies.asked().size(), 1u);
  EXPECT_EQ(lies.asked()[0].workload, work);
  EXPECT_EQ(lies.asked()[0].algorithms.size(), 2u);
}

TEST(Algorithms, AreThoseOfDevicesToo) {
  const char* half =
      "nn.conv2d(float16[1,28,28,64], float16[3,3,64,64], padding=[1,1,1,1], "
      "data_layout=\"NHWC\", kernel_layout=\"HWIO\", out_dtype=\"float32\")";
  const std::string work =
      "conv2d 3x3 float16 images=1 in=64 out=64 rows=28 columns=28 channels_last";
  MeasuredAlgorithms nothing;
  done_with(half, device_with(nothing));
  done_with(kLarge, device_with(nothing));
  ASSERT_EQ(nothing.asked().size(), 2u);
  EXPECT_EQ(nothing.asked()[0].workload, work);
  // Tiles of 4 in 16 bits are no rule's choice, but may be the fastest.
  EXPECT_EQ(nothing.asked()[0].algorithms.front(), "winograd_2x2");
  EXPECT_EQ(nothing.asked()[0].algorithms.size(), 3u);
  EXPECT_EQ(nothing.asked()[1].workload, kWorkOfLarge);
  EXPECT_EQ(nothing.asked()[1].algorithms.size(), 3u);
  for (const auto& [algorithm, is_winograd] :
       {std::pair("direct", false), std::pair("winograd_2x2", true)}) {
    MeasuredAlgorithms measured(Fastest{{work, algorithm}});
    EXPECT_EQ(done_with(half, device_with(measured)).starts_with("winograd 2x2"), is_winograd);
  }
}

}  // namespace
}  // namespace tessera::schedule
