// SPDX-License-Identifier: Apache-2.0
// Which times become costs: candidates are built, and a measuring program that stands in for ours
// says what they take.
#include "driver/measured_costs.h"

#include <filesystem>
#include <optional>
#include <stdexcept>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "driver/given_placement.h"
#include "driver/placement.h"
#include "driver/testing/measuring_program.h"
#include "driver/testing/model_test.h"
#include "driver/timing_request.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using collage::Cost;
using testing::kMeasuringProgram;
using testing::value_of;

constexpr double kCrashes = -1;  // in place of a time
constexpr double kRunUs = 1;     // what any run takes
constexpr const char* kDevice = "a machine";

// `abs` by generated code and by `ccompiler`.
class MeasuredCostsTest : public testing::ModelTest {
 protected:
  MeasuredCostsTest() {
    options_.targets = {Target(), Target("ccompiler")};
    options_.threads = 1;
    options_.tuning.measures = true;
    // Beside the program lies what the build tree has.
    fs::create_directories(bin_);
    for (const char* name : {"include", "lib"}) {
      fs::create_directory_symlink(fs::path(TESSERA_BUILD_DIR) / name, folder_.file(name));
    }
    const std::string program = bin_ + "/tessera";
    if (!write_atomically(program, kMeasuringProgram)) throw std::runtime_error(program);
    fs::permissions(program, fs::perms::owner_all);
    toolchain_ = value_of(
        link::Toolchain::find({.root = folder_.path(), .cache_folder = folder_.file("cache")}));
    code_ = value_of(machine_code(Target(), toolchain_->compiler()));
    relay::FunctionBuilder b;
    const relay::NodeId x = b.param("x", tensor_type({8, 8}, kFloat32));
    module_.targets = options_.targets;
    module_.functions["main"] = b.finish(b.call(ops::op("abs"), {x}));
    module_ = value_of(ops::infer_types(std::move(module_)));
    records_ = value_of(tune::RecordStore::open(folder_.file("r.db")));
    EXPECT_TRUE(records_->add(
        {{"collage run", "", kDevice, toolchain_->identity(), ""}, "collage", kRunUs, 0, ""}));
  }

  // What each measuring process says, one after the other, of its programs in their order.
  void answer(const std::vector<std::vector<double>>& times_us) {
    for (std::size_t n = 0; n < times_us.size(); ++n) {
      std::string text;
      for (std::size_t i = 0; i < times_us[n].size(); ++i) {
        const double time_us = times_us[n][i];
        text += tune::begin_line(i) +
                tune::line_of(i, {time_us, 0.5, time_us == kCrashes ? "it crashed" : ""});
      }
      ASSERT_TRUE(write_atomically(fmt::format("{}/answer.{}", bin_, n), text));
    }
  }
  std::size_t num_requests() const {
    std::size_t n = 0;
    while (fs::exists(fmt::format("{}/request.{}", bin_, n))) ++n;
    return n;
  }
  TimingRequest request(std::size_t n) const {
    return value_of(parse_timing_request(*read_file(fmt::format("{}/request.{}", bin_, n))));
  }

  // Of generated code, then of the back end.
  std::vector<Cost> costs() {
    const SplitChoices split = split_choices(placing_choices(options_));
    MeasuredCosts measured(options_, split.back_ends, split.rest, 0,
                           {kDevice, code_, *toolchain_, *records_, {}});
    const std::vector<collage::CandidateProgram> programs = {{module_, options_.targets[0]},
                                                             {module_, options_.targets[1]}};
    return value_of(measured.estimate_all(programs));
  }
  static void expect_us(const Cost& cost, double us) {
    EXPECT_NEAR(cost.seconds() * 1e6, us, 1e-6);
  }
  tune::Record record_of(const std::string& back_end) const {
    std::vector<tune::Record> found;
    for (tune::Record& r : value_of(records_->all()).list) {
      if (r.key.backend == back_end) found.push_back(std::move(r));
    }
    EXPECT_EQ(found.size(), 1u) << back_end;
    return found.empty() ? tune::Record() : found.front();
  }
  // In the records, and in what they say the next time, when nothing is measured.
  void expect_on_record(double native_us, double back_end_us) {
    EXPECT_NEAR(record_of("collage native").time_us, native_us, 1e-6);
    EXPECT_NEAR(record_of("collage ccompiler").time_us, back_end_us, 1e-6);
    const std::size_t before = num_requests();
    const std::vector<Cost> again = costs();
    expect_us(again.at(0), native_us);
    expect_us(again.at(1), back_end_us);
    EXPECT_EQ(num_requests(), before);
  }

  std::string bin_ = folder_.file("bin");
  CompileOptions options_;
  std::optional<link::Toolchain> toolchain_;
  MachineCode code_;
  Module module_;
  std::optional<tune::RecordStore> records_;
};

TEST_F(MeasuredCostsTest, AreTheMedianOfThreeLooksWithoutWhatARunTakes) {
  answer({{10}, {100}, {30, 500}, {20, 90}});
  const std::vector<Cost> found = costs();
  expect_us(found.at(0), 20);
  expect_us(found.at(1), 100);
  ASSERT_EQ(num_requests(), 4u);
  for (std::size_t i = 0; i < num_requests(); ++i) {
    EXPECT_NEAR(request(i).how.run * 1e6, kRunUs, 1e-6) << i;
  }
  expect_on_record(20, 100);
}

TEST_F(MeasuredCostsTest, LookForAsLongAsTheySay) {
  answer({{10}, {100}, {30, 500}, {20, 90}});
  costs();
  const TimingRequest first = request(0), of_back_end = request(1), second = request(2);
  EXPECT_EQ(first.how.threads, 1);
  EXPECT_EQ(first.how.runs.most, 20);
  EXPECT_EQ(first.how.runs.seconds, 0.2);
  EXPECT_FALSE(first.turns || second.turns);
  EXPECT_EQ(second.how.runs.fewest, 1);
  EXPECT_EQ(second.how.runs.most, 7);
  EXPECT_EQ(second.how.runs.seconds, 0.07);
  EXPECT_EQ(second.programs.size(), 2u);
  // Numbers are compared with generated code's, once.
  ASSERT_EQ(of_back_end.programs.size(), 1u);
  EXPECT_EQ(of_back_end.programs[0].reference.library, first.programs.at(0).program.library);
  EXPECT_FALSE(second.programs[0].reference || second.programs[1].reference);
}

TEST_F(MeasuredCostsTest, WhoIsWithinFivePercentIsTimedInTurnsAndThatCounts) {
  answer({{100}, {104}, {100, 104}, {100, 104}, {102, 98}});
  const std::vector<Cost> found = costs();
  expect_us(found.at(0), 102);
  expect_us(found.at(1), 98);
  ASSERT_EQ(num_requests(), 5u);
  EXPECT_TRUE(request(4).turns);
  EXPECT_EQ(request(4).programs.size(), 2u);
  expect_on_record(102, 98);
}

TEST_F(MeasuredCostsTest, WhoIsFurtherAwayIsNotLookedAtAgain) {
  answer({{100}, {106}, {100, 106}, {100, 106}});
  const std::vector<Cost> found = costs();
  expect_us(found.at(1), 106);
  EXPECT_EQ(num_requests(), 4u);
}

TEST_F(MeasuredCostsTest, WhoFailsInALaterLookIsOut) {
  answer({{100}, {100}, {100, 100}, {100, kCrashes}});
  const std::vector<Cost> found = costs();
  expect_us(found.at(0), 100);
  EXPECT_TRUE(found.at(1).is_invalid());
  EXPECT_EQ(found.at(1).why_invalid(), "it crashed");
  EXPECT_EQ(num_requests(), 4u) << "alone there are no turns";
  EXPECT_EQ(record_of("collage ccompiler").failure, "it crashed");
}

}  // namespace
}  // namespace tessera::driver
