// SPDX-License-Identifier: Apache-2.0
// Measured placement of models whose parts do not know their sizes by themselves.
#include <gtest/gtest.h>

#include "driver/size_params.h"
#include "driver/testing/collage_test.h"
#include "passes/testing/text.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class CollageSizesTest : public testing::CollageTest {};

// The last part has no input at all.
constexpr const char* kSizesAlone = R"text(
def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = nn.dense(%x, %w, units=64);
  %1 = sizes(values=["n", "(2*n)"]);
  (nn.relu(%0), multiply(%1, 3i64))
})text";

// As many rows as there are numbers in a column: data say so.
constexpr const char* kSizesOfData = R"text(
def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = sum(cast(greater(%x, -1e9f), dtype="int64"), axis=[0]);
  %1 = strided_slice(%0, begin=[0], end=[1], strides=[1], axes=[0]);
  %2 = concatenate((%1, sizes(values=["64"])), axis=0);
  %3 = dyn.reshape(nn.dense(%x, %w, units=64), %2);
  %4 = abs(%3);
  nn.dense(nn.relu(%4), %w, units=64)
})text";

TEST_F(CollageSizesTest, APartThatNoInputTellsASizeIsMeasured) {
  const CompileOptions o = collage(kSizesAlone);
  const CompileReport report = value_of(compile(o));
  EXPECT_EQ(report.collage->failed, 0u);
  EXPECT_GT(report.collage->measured, 0u);
  expect_close(outputs_of(o.output), native_outputs(kSizesAlone));
}

TEST_F(CollageSizesTest, SizesThatDataDecideLeaveTheRestToBePlaced) {
  CompileOptions o = collage(kSizesOfData);
  o.reproducible = true;
  const CompileReport report = value_of(compile(o));
  EXPECT_TRUE(report.warnings.empty()) << render(report.warnings.front());
  std::size_t without_time = 0;
  for (const collage::PlannedRegion& region : report.collage->regions) {
    if (std::isfinite(region.chosen.seconds)) continue;
    ++without_time;
    EXPECT_EQ(region.chosen.who, "native");
    EXPECT_NE(region.chosen.why_not.find("only a run of the whole model knows"), std::string::npos)
        << region.chosen.why_not;
  }
  EXPECT_GT(without_time, 0u);
  EXPECT_LT(without_time, report.collage->regions.size());
  expect_close(outputs_of(o.output), native_outputs(kSizesOfData));
  const std::string first = bytes_of(o.output);
  o.tuning.measures = false;
  value_of(compile(o));
  EXPECT_TRUE(first == bytes_of(o.output)) << "from records alone";
}

TEST_F(CollageSizesTest, SizesThatTheModelDoesNotTakeAreNamed) {
  const auto failed = compile(collage(R"text(
def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 64), float32],
          %b: Tensor[(?m, 64), float32]) {
  add(nn.dense(%x, %w, units=64), concatenate((%b, %b), axis=0))
})text"));
  ASSERT_FALSE(failed);
  const std::string told = render(failed.error());
  EXPECT_NE(told.find("with m = 128, n = 128"), std::string::npos) << told;
}

std::vector<std::string> params_of(const relay::Function& f) {
  std::vector<std::string> names;
  for (const relay::NodeId id : f.params()) {
    names.push_back(f.as<relay::Param>(id)->name + ": " + to_string(f.type(id)));
  }
  return names;
}

TEST(SizeParams, AreOfSymbolsThatNoParameterHasByItself) {
  const Module module = passes::testing::module_of(R"text(
def @main(%x: Tensor[(?n, ?(a+b), 4), float32]) {
  %0 = sizes(values=["a", "(n*c)"]);
  (abs(%x), %0)
})text");
  const relay::Function sized = with_size_params(module.functions.at("main"));
  EXPECT_EQ(params_of(sized),
            (std::vector<std::string>{
                "x: Tensor[(?n, ?(a+b), 4), float32]", "size_of_a: Tensor[(?a), uint8]",
                "size_of_b: Tensor[(?b), uint8]", "size_of_c: Tensor[(?c), uint8]"}));
  EXPECT_EQ(params_of(with_size_params(sized)), params_of(sized)) << "it has all of them now";
}

TEST(SizeParams, AreNamelessWhereDataDecideThem) {
  const auto is_nameless = [](const char* type) {
    const std::string text = std::string("def @main(%x: ") + type + ") { abs(%x) }";
    return has_nameless_sizes(passes::testing::module_of(text).functions.at("main"));
  };
  EXPECT_FALSE(is_nameless("Tensor[(?n, 4), float32]"));
  EXPECT_TRUE(is_nameless("Tensor[(?, 4), float32]"));
}

}  // namespace
}  // namespace tessera::driver
