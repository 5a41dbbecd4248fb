// SPDX-License-Identifier: Apache-2.0
// What a measuring program that stands in for ours says of whole plans, and what is made of it.
#include "driver/plan_times.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "driver/testing/measuring_program.h"
#include "driver/testing/model_test.h"
#include "driver/timing_request.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

namespace fs = std::filesystem;
using testing::kMeasuringProgram;
using testing::value_of;

class PlanTimesTest : public testing::ModelTest {
 protected:
  PlanTimesTest() {
    EXPECT_TRUE(write_atomically(command_, kMeasuringProgram));
    fs::permissions(command_, fs::perms::owner_all);
    options_.targets = {Target()};
  }
  void answer(int number, const std::string& text) {
    EXPECT_TRUE(
        write_atomically(folder_.file("answer." + std::to_string(number)), text + "done\n"));
  }
  std::optional<TimingRequest> request(int number) const {
    const auto text = read_file(folder_.file("request." + std::to_string(number)));
    if (!text) return std::nullopt;
    return value_of(parse_timing_request(*text));
  }
  std::vector<tune::Measured> times() const {
    const LibraryProgram plans[] = {{"a.so"}, {"b.so"}, {"c.so"}};
    return time_whole_plans(plans, 0.25, options_, command_);
  }

  std::string command_ = folder_.file("command");
  CompileOptions options_;
};

// Each process had another bad moment.
TEST_F(PlanTimesTest, AreTheMedianOfThreeProcesses) {
  answer(0, "time 0 50 1\ntime 1 30 1\ntime 2 40 2\n");
  answer(1, "time 0 20 3\ntime 1 70 1\ntime 2 41 1\n");
  answer(2, "time 0 21 2\ntime 1 31 1\ntime 2 90 1\n");
  EXPECT_EQ(times(), (std::vector<tune::Measured>{{21, 2, ""}, {31, 1, ""}, {41, 1, ""}}));
  EXPECT_EQ(request(0)->turns->tolerance, 0.25);
  EXPECT_LT(request(1)->turns->tolerance, 0) << "numbers are compared once";
  EXPECT_FALSE(request(3));
}

TEST_F(PlanTimesTest, WhatFailsIsNotTriedAgain) {
  answer(0, "time 0 50 1\nwrong 1 wrong numbers\ntime 2 40 1\n");
  answer(1, "time 0 51 1\ntime 1 41 1\n");
  answer(2, "time 0 52 1\nwrong 1 it crashed\n");
  EXPECT_EQ(times(), (std::vector<tune::Measured>{
                         {51, 1, ""}, {0, 0, "wrong numbers"}, {0, 0, "it crashed"}}));
  ASSERT_EQ(request(1)->programs.size(), 2u);
  EXPECT_EQ(request(1)->programs.at(1).program.library, "c.so");
}

TEST_F(PlanTimesTest, AGpuIsOursAlone) {
  options_.targets = {value_of(parse_target("cuda -arch=sm_90a"))};
  answer(0, "time 0 50 1\ntime 1 30 1\ntime 2 40 2\n");
  EXPECT_EQ(times().at(0).time_us, 50);
  EXPECT_FALSE(request(1));
}

TEST_F(PlanTimesTest, SizesThatWereGuessedAreNamed) {
  EXPECT_EQ(no_plan_timed({}, "it crashed").code, Code::kToolFailed);
  const SymbolTable symbols = {{"n", {}}};
  const Diagnostic told = no_plan_timed(symbols, "the run failed");
  EXPECT_EQ(told.code, Code::kBadOption);
  EXPECT_EQ(told.message, "no plan of the model could be timed with n = 128: the run failed");
}

}  // namespace
}  // namespace tessera::driver
