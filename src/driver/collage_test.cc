// SPDX-License-Identifier: Apache-2.0
// `--partition collage` from the model to the library. The back end is `ccompiler`, whose `header`
// makes it slow, wrong, or a crash.
#include "driver/testing/collage_test.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>

#include <gtest/gtest.h>

#include "backends/table.h"
#include "driver/dimensions.h"
#include "ops/evaluation/compare.h"
#include "support/child.h"
#include "tune/record_store.h"

namespace tessera::driver {
namespace {

using testing::CollageTest;
using testing::kAbsAndProduct;
using testing::value_of;

// `abs` of the back end is std::fabs.
std::string header(const std::string& macro) {
  return "#include <cmath>\n#include <cstdlib>\n"
         "inline float late(float v) { for (volatile int i = 0; i < 500; ++i) {} return v; }\n"
         "inline float never(float v) { for (volatile bool on = true; on;) {} return v; }\n"
         "#define fabs(v) " +
         macro + "\n";
}
const std::string kSlow = header("fabs(late(v))");
const std::string kWrong = header("fabs(v) + 1.0f");
const std::string kCrash = header("fabs(v) * (abort(), 1.0f)");
const std::string kHang = header("fabs(never(v))");

TEST_F(CollageTest, WritesTheFastestOfAllPlansAndTellsTheirTimes) {
  const CompileOptions o = collage();
  const CompileReport report = value_of(compile(o));
  ASSERT_TRUE(report.collage);
  const CollageReport& c = *report.collage;
  EXPECT_EQ(
      std::count_if(c.plans.begin(), c.plans.end(), [](const WholePlan& p) { return p.is_chosen; }),
      1);
  for (const WholePlan& p : c.plans) {
    EXPECT_EQ(p.why_not, "") << p.name;
    EXPECT_GT(p.seconds, 0) << p.name;
    EXPECT_LE(chosen(report).seconds, p.seconds * 1.02) << p.name;
    EXPECT_GT(p.predicted_seconds, 0) << p.name;
  }
  EXPECT_GE(c.regions.size(), 2u);
  EXPECT_GT(c.predicted_seconds, 0);
  EXPECT_GT(c.measured, 0u);
  expect_close(outputs_of(o.output), native_outputs(kAbsAndProduct));
}

TEST_F(CollageTest, EqualRecordsGiveEqualBytesAndNothingIsMeasured) {
  CompileOptions o = collage();
  o.reproducible = true;
  const CompileReport measured = value_of(compile(o));
  const std::string first = bytes_of(o.output);
  o.tuning.measures = false;
  std::filesystem::create_directory(folder_.file("again"));
  o.output = folder_.file("again/m.so");  // the name is part of a library, its folder is not
  const CompileReport again = value_of(compile(o));
  EXPECT_EQ(again.collage->measured, 0u);
  EXPECT_EQ(chosen(again).name, chosen(measured).name);
  EXPECT_TRUE(first == bytes_of(o.output));
}

// The second level leaves a record, whether it found something or not: it is searched once, and
// equal records give equal bytes.
TEST_F(CollageTest, TheSecondLevelIsOnRecord) {
  CompileOptions o = collage();
  o.tuning.evolve_s = 3;
  o.reproducible = true;
  const CompileReport measured = value_of(compile(o));
  const auto stages = [](const CompileReport& report) {
    return std::count_if(report.stages.begin(), report.stages.end(),
                         [](const StageTime& s) { return s.name == "second level"; });
  };
  const std::string first = bytes_of(o.output);
  o.tuning.measures = false;
  std::filesystem::create_directory(folder_.file("again"));
  o.output = folder_.file("again/m.so");
  const CompileReport again = value_of(compile(o));
  EXPECT_EQ(stages(again), 0);
  EXPECT_EQ(chosen(again).name, chosen(measured).name);
  EXPECT_TRUE(first == bytes_of(o.output));
  std::size_t found = 0;
  for (const tune::Record& r : value_of(value_of(tune::RecordStore::open(o.records)).all()).list) {
    found += r.key.backend == "collage evolved";
  }
  EXPECT_EQ(found, 1u);
  expect_close(outputs_of(o.output), native_outputs(kAbsAndProduct));
}

// A placement on record is a plan of the race: here one in which generated code does what the first
// level, misled, has given to a slow back end.
TEST_F(CollageTest, APlacementOnRecordTakesPart) {
  const std::string text = R"(
def @main(%x: Tensor[(64, 64), float32]) {
  %0 = abs(%x);
  %1 = nn.softmax(%0);
  %2 = abs(%1);
  nn.softmax(%2)
})";
  CompileOptions o = collage(text);
  value_of(compile(o));
  tune::RecordStore store = value_of(tune::RecordStore::open(o.records));
  std::string build;  // of the searched plan
  for (const tune::Record& r : value_of(store.all()).list) {
    if (r.key.backend == "collage plan" && r.configuration.starts_with("collage")) {
      build = r.key.workload;
      tune::Record evolved = r;
      evolved.key.backend = "collage evolved";
      evolved.configuration = "2 ccompiler, 3 native";  // %x and the first abs
      ASSERT_TRUE(store.replace(evolved));
    }
  }
  ASSERT_NE(build, "");
  const CompileReport report = value_of(compile(o));
  EXPECT_GT(plan(report, "evolved").seconds, 0);
  expect_close(outputs_of(o.output), native_outputs(text));
}

TEST_F(CollageTest, WithoutRecordsAndMeasuringItIsAnError) {
  CompileOptions o = collage();
  o.tuning.measures = false;
  const auto result = compile(o);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().list.front().message.find("no record"), std::string::npos);
  EXPECT_NE(result.error().list.front().remedy.find("--no-measure"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(o.output));
}

TEST_F(CollageTest, WrongNumbersAreNoCandidate) {
  const CompileOptions o = collage(kAbsAndProduct, kWrong);
  const CompileReport report = value_of(compile(o));
  EXPECT_NE(plan(report, "ccompiler alone").why_not.find("wrong numbers"), std::string::npos);
  for (const collage::PlannedRegion& row : report.collage->regions)
    EXPECT_EQ(row.chosen.who, "native");
  const bool told = std::any_of(
      report.collage->regions.begin(), report.collage->regions.end(),
      [](const collage::PlannedRegion& row) {
        return std::any_of(row.others.begin(), row.others.end(), [](const collage::PricedWay& way) {
          return way.why_not.find("wrong numbers") != std::string::npos;
        });
      });
  EXPECT_TRUE(told);
  expect_close(outputs_of(o.output), native_outputs(kAbsAndProduct));
}

// The order of targets leaves such a product to generated code and says that others are faster; who
// measured knows better.
TEST_F(CollageTest, GeneratedCodeThatWasMeasuredIsNotCalledSlow) {
  const auto is_told = [](const CompileReport& report) {
    return std::any_of(report.warnings.begin(), report.warnings.end(),
                       [](const Diagnostic& d) { return d.code == Code::kSlowCode; });
  };
  CompileOptions o = collage(R"(
def @main(%x: Tensor[(512, 256), int32], %w: Tensor[(128, 256), int32]) {
  nn.dense(abs(%x), %w, units=128)
})");
  EXPECT_FALSE(is_told(value_of(compile(o))));
  o.partition = Partition::kGreedy;
  o.tuning.measures = false;
  EXPECT_TRUE(is_told(value_of(compile(o))));
}

// The results are float32, and no more exact than what they are made of.
TEST_F(CollageTest, NumbersAreComparedAsTheNarrowestTypeOnTheWay) {
  CompileOptions o = collage(
      "def @main(%x: Tensor[(128, 2048), bfloat16], %w: Tensor[(128, 2048), bfloat16]) {\n"
      "  cast(nn.dense(nn.relu(%x), %w, units=128), dtype=\"float32\")\n}\n");
  o.targets.back() = Target("onednn");
  const byoc::Backend& onednn = *backends::find_backend("onednn");
  const Target here = Target("onednn").with_host(Target());
  if (onednn.available(here) || onednn.capabilities(here).types_of_16_bits.empty()) {
    GTEST_SKIP() << "oneDNN has no products of bfloat16 here";
  }
  const CompileReport report = value_of(compile(o));
  EXPECT_EQ(report.collage->failed, 0u);
  EXPECT_EQ(plan(report, "onednn alone").why_not, "");
}

TEST_F(CollageTest, ACrashCostsTheCandidateAlone) {
  const CompileOptions o = collage(kAbsAndProduct, kCrash);
  const CompileReport report = value_of(compile(o));
  for (const collage::PlannedRegion& row : report.collage->regions)
    EXPECT_EQ(row.chosen.who, "native");
  EXPECT_NE(plan(report, "ccompiler alone").why_not, "");
  expect_close(outputs_of(o.output), native_outputs(kAbsAndProduct));
}

// What else the back end can do is measured after it, and its plan is out.
TEST_F(CollageTest, AHangCostsTheCandidateAlone) {
  const std::string text = R"(
def @main(%x: Tensor[(64, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = abs(%x);
  %1 = nn.dense(%0, %w, units=64);
  nn.relu(%1)
})";
  CompileOptions o = collage(text, kHang);
  o.tuning.silence_s = 1;
  const CompileReport report = value_of(compile(o));
  for (const collage::PlannedRegion& row : report.collage->regions) {
    EXPECT_TRUE(row.operators.front() != "abs" || row.chosen.who == "native");
  }
  EXPECT_EQ(plan(report, "ccompiler alone").why_not, kHangs);
  EXPECT_EQ(plan(report, "native").why_not, "");
  std::map<std::string, std::size_t> timed, failed;  // by back end
  for (const tune::Record& r : value_of(value_of(tune::RecordStore::open(o.records)).all()).list) {
    if (r.key.backend == "collage plan") continue;
    ++(r.failure.empty() ? timed : failed)[r.key.backend];
    EXPECT_TRUE(r.failure.empty() || r.failure == kHangs) << r.failure;
  }
  EXPECT_EQ(failed, (std::map<std::string, std::size_t>{{"collage ccompiler", 1}}));
  EXPECT_EQ(timed["collage ccompiler"], 1u) << "nn.relu";
  EXPECT_EQ(report.collage->failed, 1u);
  EXPECT_EQ(report.collage->left, 0u);
  expect_close(outputs_of(o.output), native_outputs(text));
}

// Records that say that a slow back end is fast mislead the search, and not the result.
TEST_F(CollageTest, IsNeverSlowerThoughCostsLie) {
  const CompileOptions o = collage(kAbsAndProduct, kSlow);
  value_of(compile(o));
  tune::RecordStore store = value_of(tune::RecordStore::open(o.records));
  for (tune::Record record : value_of(store.all()).list) {
    if (record.key.backend != "collage ccompiler") continue;
    record.time_us = 0.001;
    ASSERT_TRUE(store.add(record));
  }
  const CompileReport report = value_of(compile(o));
  const bool misled = std::any_of(report.collage->regions.begin(), report.collage->regions.end(),
                                  [](const auto& row) { return row.chosen.who == "ccompiler"; });
  EXPECT_TRUE(misled);
  const WholePlan& searched = report.collage->plans.front();
  for (const WholePlan& p : report.collage->plans) {
    SCOPED_TRACE(p.name);
    EXPECT_EQ(p.why_not, "");
    EXPECT_GT(p.seconds, 0);
  }
  EXPECT_FALSE(searched.is_chosen);
  EXPECT_LT(chosen(report).seconds, searched.seconds);
  EXPECT_EQ(chosen(report).name, "native");
}

TEST_F(CollageTest, TakesOpenSizesAtTheLikelyOne) {
  const std::string text = R"(
def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(64, 64), float32]) {
  %0 = nn.dense(%x, %w, units=64);
  nn.relu(%0)
})";
  const CompileOptions o = collage(text);
  const CompileReport report = value_of(compile(o));
  EXPECT_GT(report.collage->measured, 0u);
  expect_close(outputs_of(o.output), native_outputs(text));
}

// A row of the largest size takes longer than one of the likely size.
TEST_F(CollageTest, LargestSizesCountAsMuchAsTheyAreTold) {
  CompileOptions o = collage(R"(
def @main(%x: Tensor[(?n, 64), float32], %w: Tensor[(256, 64), float32]) {
  %0 = nn.dense(%x, %w, units=256);
  nn.relu(%0)
})");
  const std::vector<std::string> range = {"n=1..2048:1"};
  o.dims = value_of(parse_dim_bindings(range));
  const double likely = value_of(compile(o)).collage->predicted_seconds;
  o.tuning.largest_share = 0.5;
  EXPECT_GT(value_of(compile(o)).collage->predicted_seconds, 2 * likely);
}

// Records are of a run without what every run takes, and say what that is.
TEST_F(CollageTest, WhatARunTakesIsMeasuredOnce) {
  const CompileOptions o = collage();
  value_of(compile(o));
  const auto runs = [&] {
    std::vector<tune::Record> found;
    for (const tune::Record& r :
         value_of(value_of(tune::RecordStore::open(o.records)).all()).list) {
      if (r.key.backend == "collage run") found.push_back(r);
    }
    return found;
  };
  ASSERT_EQ(runs().size(), 1u);
  const tune::Record first = runs().front();
  value_of(compile(o));
  ASSERT_EQ(runs().size(), 1u);
  EXPECT_EQ(runs().front(), first);
}

TEST_F(CollageTest, FunctionsWithBranchesAreLeftToTheOrderOfTargets) {
  const std::string text = R"(
def @main(%c: bool, %x: Tensor[(8, 8), float32]) {
  if (%c) { abs(%x) } else { nn.relu(%x) }
})";
  const CompileOptions o = collage(text);
  const CompileReport report = value_of(compile(o));
  EXPECT_TRUE(report.collage->regions.empty());
  expect_close(outputs_of(o.output), native_outputs(text));
}

}  // namespace
}  // namespace tessera::driver
