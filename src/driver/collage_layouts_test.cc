// SPDX-License-Identifier: Apache-2.0
// Layouts as a part of `--partition collage`, from the model to the library. The back end asks for
// channels last and computes no convolution, so that generated code does in either layout.
#include <filesystem>

#include "driver/testing/collage_test.h"
#include "tune/record_store.h"

namespace tessera::driver {
namespace {

using testing::value_of;

// Odd sizes, a value that two read, and softmax over channels, which has no other order.
constexpr const char* kTwoConvolutions = R"(
def @main(%x: Tensor[(1, 5, 9, 7), float32], %w: Tensor[(6, 5, 3, 3), float32], %v: Tensor[(6, 6, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=6, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = nn.softmax(%1, axis=1);
  %3 = nn.conv2d(%2, %v, channels=6, kernel_size=[1, 1]);
  %4 = abs(%3);
  %5 = add(%4, %1);
  nn.avg_pool2d(%5, pool_size=[2, 2], strides=[2, 2])
})";

class CollageLayoutsTest : public testing::CollageTest {
 protected:
  CompileOptions by_layout(const std::string& text) {
    CompileOptions o = collage(text);
    o.targets.back() = Target("ccompiler").with("layout", "nn.conv2d:NHWC");
    return o;
  }
  static std::size_t conversions_on_record(const CompileOptions& o) {
    std::size_t found = 0;
    for (const tune::Record& r :
         value_of(value_of(tune::RecordStore::open(o.records)).all()).list) {
      found += r.key.workload.ends_with(" transpose") && r.key.backend == "collage native";
    }
    return found;
  }
};

TEST_F(CollageLayoutsTest, APlanByLayoutTakesPartInTheRace) {
  const CompileOptions o = by_layout(kTwoConvolutions);
  const CompileReport report = value_of(compile(o));
  const WholePlan& by_layout = plan(report, "collage by layout");
  EXPECT_EQ(by_layout.why_not, "");
  EXPECT_GT(by_layout.seconds, 0);
  EXPECT_LE(chosen(report).seconds, by_layout.seconds * 1.02);
  EXPECT_GE(conversions_on_record(o), 4u) << "data and weights, there and back, once a kind";
  expect_close(outputs_of(o.output), native_outputs(kTwoConvolutions));
}

TEST_F(CollageLayoutsTest, EqualRecordsGiveEqualBytes) {
  CompileOptions o = by_layout(kTwoConvolutions);
  o.reproducible = true;
  const CompileReport measured = value_of(compile(o));
  const std::string first = bytes_of(o.output);
  o.tuning.measures = false;
  std::filesystem::create_directory(folder_.file("again"));
  o.output = folder_.file("again/m.so");
  const CompileReport again = value_of(compile(o));
  EXPECT_EQ(chosen(again).name, chosen(measured).name);
  EXPECT_TRUE(first == bytes_of(o.output));
}

// Where conversions cost more than they can save, nothing is converted; where they cost nothing,
// lies about that mislead the search, and not the result.
TEST_F(CollageLayoutsTest, IsNeverSlowerThoughConversionsLie) {
  const CompileOptions o = by_layout(kTwoConvolutions);
  value_of(compile(o));
  for (const double time_us : {1e7, 1e-3}) {
    tune::RecordStore store = value_of(tune::RecordStore::open(o.records));
    for (tune::Record record : value_of(store.all()).list) {
      if (!record.key.workload.ends_with(" transpose")) continue;
      record.time_us = time_us;
      ASSERT_TRUE(store.replace(record));
    }
    const CompileReport report = value_of(compile(o));
    for (const WholePlan& p : report.collage->plans) {
      EXPECT_EQ(p.why_not, "") << p.name;
      EXPECT_LE(chosen(report).seconds, p.seconds * 1.02) << p.name;
    }
    expect_close(outputs_of(o.output), native_outputs(kTwoConvolutions));
  }
}

TEST_F(CollageLayoutsTest, OpenSizesAndModelsWithoutConvolutions) {
  for (const std::string text : {R"(
def @main(%x: Tensor[(?n, 4, 6, 6), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]);
  abs(%0)
})",
                                 testing::kAbsAndProduct}) {
    CompileOptions o = by_layout(text);
    o.output = new_library();
    EXPECT_EQ(plan(value_of(compile(o)), "collage by layout").why_not, "");
    expect_close(outputs_of(o.output), native_outputs(text));
  }
}

}  // namespace
}  // namespace tessera::driver
