// SPDX-License-Identifier: Apache-2.0
#include "driver/program_timing.h"

#include <array>

#include <gtest/gtest.h>

#include "driver/compile.h"
#include "driver/entry_file.h"
#include "driver/run_chains.h"
#include "driver/testing/model_test.h"
#include "driver/timing_request.h"
#include "support/child.h"

namespace tessera::driver {
namespace {

using testing::value_of;

class ProgramTimingTest : public testing::ModelTest {
 protected:
  std::string command_ = value_of(value_of(link::SupportFiles::find()).command());
};

TEST(TimingRequest, IsReadAsItIsWritten) {
  const LibraryProgram program{"a \"b\".so", "x", {{1, 2}, {}}, {{3, 4}, {}}};
  const TimingRequest request{{{program, {}}, {{}, program, 1e-3}},
                              {1},
                              {2, true, 0.5, 0.75, 0.125, 0.25, 8, {4, 5, 0.5}, true},
                              Turns{3, {1, 4, 0.125}, 20}};
  const std::string text = to_text(request);
  EXPECT_EQ(to_text(value_of(parse_timing_request(text))), text);
  const TimingRequest read = value_of(parse_timing_request(text));
  EXPECT_EQ(read.how.settle, 0.75);
  EXPECT_EQ(read.how.run, 0.125);
  EXPECT_EQ(read.how.runs.most, 5);
  EXPECT_TRUE(read.how.on_gpu);
  EXPECT_EQ(read.turns->of_turn.seconds, 0.125);
  EXPECT_EQ(read.turns->tolerance, 20);
  EXPECT_EQ(read.programs.at(1).tolerance, 1e-3);
  EXPECT_FALSE(parse_timing_request("{}"));
  EXPECT_FALSE(parse_timing_request("begin"));
}

TEST_F(ProgramTimingTest, AFileHasSeveralPrograms) {
  auto toolchain = value_of(link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = ""}));
  CompileOptions o;
  o.targets = {Target()};
  const MachineCode code = value_of(machine_code(Target(), toolchain.compiler()));
  const EntryFile file = value_of(chain_library(std::array{1, 40}, o, code, toolchain));
  const LibraryProgram few = file.programs().at("chain_0001"),
                       many = file.programs().at("chain_0040");
  EXPECT_EQ(few.likely, (Shapes{{1, 8}}));
  const LibraryProgram none{few.library, "nothing", few.likely, few.largest};
  const std::vector<TimedProgram> programs = {
      {few, few}, {none, {}}, {many, {}}, {few, many, 1e-4}};
  const auto times = time_each(programs, {.threads = 1}, command_);
  EXPECT_EQ(times.at(0).failure, "");
  EXPECT_NE(times.at(1).failure, "");
  EXPECT_GT(times.at(2).time_us, times.at(0).time_us);
  EXPECT_NE(times.at(3).failure.find("wrong"), std::string::npos) << times.at(3).failure;

  // What computes something else, or cannot be opened, is out; the others have their times.
  const auto turns = time_in_turns(std::vector{many, none, few, few},
                                   {.turns = 2, .tolerance = 1e-4}, {.threads = 1}, command_);
  EXPECT_NE(turns.at(0).failure.find("wrong"), std::string::npos) << turns.at(0).failure;
  EXPECT_NE(turns.at(1).failure, "");
  EXPECT_GT(turns.at(2).time_us, 0);
  EXPECT_GT(turns.at(3).time_us, 0);
}

TEST_F(ProgramTimingTest, OneThatNeverComesBackCostsItself) {
  const auto library = [&](const Target* back_end) {
    CompileOptions o = options("def @main(%x: Tensor[(8, 8), float32]) { abs(%x) }");
    o.output = new_library();
    if (back_end != nullptr) o.targets.push_back(*back_end);
    value_of(compile(o));
    return LibraryProgram{o.output, "", {{8, 8}}, {{8, 8}}};
  };
  const Target hanging =
      Target("ccompiler")
          .with("header",
                "#include <cmath>\ninline float never(float v) {\n"
                "  for (volatile bool on = true; on;) {}\n  return v;\n}\n#define fabs(v) "
                "fabs(never(v))\n");
  const LibraryProgram good = library(nullptr), hangs = library(&hanging);
  const ProgramTiming how{.threads = 1, .silence_s = 1};
  const std::vector<TimedProgram> each = {{good}, {hangs}, {good}};
  const auto times = time_each(each, how, command_);
  const auto turns = time_in_turns(std::vector{hangs, good, good}, {.turns = 2}, how, command_);
  EXPECT_EQ(times.at(1), (tune::Measured{0, 0, std::string(kHangs)}));
  EXPECT_EQ(turns.at(0), (tune::Measured{0, 0, std::string(kHangs)}));
  for (const tune::Measured& m : {times.at(0), times.at(2), turns.at(1), turns.at(2)}) {
    EXPECT_EQ(m.failure, "");
    EXPECT_GT(m.time_us, 0);
  }
}

TEST_F(ProgramTimingTest, ACommandThatIsNotThereIsAFailureOfEach) {
  const std::vector<TimedProgram> programs(2, {{"a.so"}, {}});
  for (const tune::Measured& m : time_each(programs, {}, folder_.file("no-command"))) {
    EXPECT_EQ(m.failure, "exit status 127");
  }
}

}  // namespace
}  // namespace tessera::driver
