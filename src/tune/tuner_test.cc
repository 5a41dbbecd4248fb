// SPDX-License-Identifier: Apache-2.0
// The tuner with programs that need no GPU: each candidate is a function that says how it behaves.
#include "tune/tuner.h"

#include <cstdlib>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tune/tuner_fixture.h"

namespace tessera::tune {
namespace {

// What the real ones are in kernels/measure_contest.cuh: a kernel "computes" its time, or
// misbehaves.
constexpr const char* kProgram = R"(
#include <cstdio>
#include <cstdlib>
#include <cstring>
extern "C" { extern double (*const candidates[])(); extern const int candidate_count; }
int main(int, char** argv) {
  for (int i = 0; i < candidate_count; ++i) {
    char number[16];
    std::snprintf(number, sizeof number, ",%d,", i);
    char skipped[256] = ",";
    std::strcat(std::strcat(skipped, argv[3]), ",");
    if (std::strstr(skipped, number) != nullptr) continue;
    std::printf("begin %d\n", i);
    std::fflush(stdout);
    const double time = candidates[i]();
    if (time < 0) {
      std::printf("wrong %d it is off by %g\n", i, time);
      continue;
    }
    std::printf("time %d %g 0.25\n", i, time);
    if (argv[2][0] == '1') break;
  }
  std::printf("done\n");
})";

CompileJob source(std::string name, std::string text) {
  return {std::move(name), Source::trusted(std::move(text)), "cc", {"-O0"}};
}

// Named by what it does: "returns 5;", "std::abort();".
byoc::TuningTask task(const std::vector<std::string>& bodies, std::string workload = "w") {
  byoc::TuningTask t{"test", "1", "sm_90a 132 ", {std::move(workload)}, "a test"};
  std::string declarations, rows;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    const std::string symbol = fmt::format("candidate_{}", i);
    t.candidates.push_back(
        {fmt::format("c{}", i),
         std::make_shared<const CompileJob>(
             source(symbol, fmt::format("#include <cstdlib>\nextern \"C\" double {}() {{ {} }}\n",
                                        symbol, bodies[i])))});
  }
  t.program = source("program", kProgram);
  t.table = [](std::span<const std::size_t> numbers) {
    std::string text = "extern \"C\" {\n", list;
    for (const std::size_t i : numbers) {
      text += fmt::format("double candidate_{}();\n", i);
      list += fmt::format("candidate_{}, ", i);
    }
    return source("table", fmt::format("{}extern double (*const candidates[])() = {{{}}};\n"
                                       "extern const int candidate_count = {};\n}}\n",
                                       text, list, numbers.size()));
  };
  return t;
}

class TunerTest : public TunerFixture {
 protected:
  // A compiler, called by the name, that fails on the source, a pattern of shells, as long as the
  // file named `lack` is there: with what that says.
  link::Toolchain with_failing_compiler(const std::string& name, const std::string& pattern) const {
    const std::string compiler = folder_.file(name);
    EXPECT_TRUE(write_atomically(
        compiler, fmt::format("#!/bin/sh\nif test -e '{0}'; then\n  case \"$*\" in {1})\n"
                              "    echo 'candidate_1.cc:1:2: error: unfinished' >&2\n"
                              "    cat '{0}' >&2; exit 4;;\n  esac\nfi\nexec c++ \"$@\"\n",
                              folder_.file("lack"), pattern)));
    EXPECT_EQ(::chmod(compiler.c_str(), 0700), 0);
    ::setenv("CXX", compiler.c_str(), 1);
    auto toolchain =
        link::Toolchain::find({.root = TESSERA_BUILD_DIR, .cache_folder = "", .jobs = 1});
    ::unsetenv("CXX");
    return *std::move(toolchain);
  }
};

TEST_F(TunerTest, TheFastestIsFound) {
  const TuneRow row = tune(task({"return 5;", "return 3;", "return 4;"}));
  ASSERT_TRUE(row.best);
  EXPECT_EQ(row.best->configuration, "c1");
  EXPECT_EQ(row.best->time_us, 3);
  EXPECT_EQ(row.best->spread_us, 0.25);
  EXPECT_EQ(row.best->key.device, "sm_90a 132 Test GPU");
  EXPECT_EQ(row.first, "c0");
  ASSERT_TRUE(row.first_record);
  EXPECT_EQ(row.first_record->time_us, 5);
  EXPECT_EQ(row.measured, 3u);
  EXPECT_EQ(row.problem, "");
}

// Each of these is recorded with its reason, and costs the others nothing but a start.
TEST_F(TunerTest, WhoFailsIsRecordedAndNeverTriedAgain) {
  const auto t = task({"return -2;", "std::abort();", "not C++", "return 7;", "std::exit(9);"});
  const TuneRow row = tune(t);
  ASSERT_TRUE(row.best);
  EXPECT_EQ(row.best->configuration, "c3");
  EXPECT_EQ(row.measured, 1u);
  EXPECT_EQ(row.failed, 4u);
  std::map<std::string, std::string> failures;
  for (const Record& r : records()) failures[r.configuration] = r.failure;
  EXPECT_EQ(failures["c0"], "it is off by -2");
  EXPECT_EQ(failures["c1"], "it ends with signal 6 (Aborted)");
  EXPECT_TRUE(failures["c2"].starts_with(kNotCompiled)) << failures["c2"];
  EXPECT_NE(failures["c2"].find("could not compile `candidate_2.cc`"), std::string::npos)
      << failures["c2"];
  EXPECT_EQ(failures["c3"], "");
  EXPECT_EQ(failures["c4"], "it ends with exit status 9");
  const TuneRow again = tune(t);
  EXPECT_EQ(again.measured + again.failed, 0u);
  EXPECT_EQ(again.known, 5u);
  EXPECT_EQ(again.best->configuration, "c3");
}

// What a compiler says of a full disk, or of memory that was out, is true for a while.
TEST_F(TunerTest, ACompilerThatTheMachineFailsIsAskedAgain) {
  const std::string lack = folder_.file("lack");
  toolchain_ = with_failing_compiler("compiler", "*candidate_1.cc*");
  const auto t = task({"return 5;", "return 3;"});
  for (const std::string why : {"fatal error: error writing to /tmp/x.s: No space left on device",
                                "catastrophic error: out of memory",
                                "nvcc error : 'cicc' died due to signal 9 (Kill)", "Killed"}) {
    ASSERT_TRUE(write_atomically(lack, why + "\n"));
    const TuneRow row = tune(t);
    EXPECT_NE(row.problem.find(why), std::string::npos) << row.problem;
    EXPECT_EQ(row.failed, 0u);
    EXPECT_EQ(records().size(), 1u);
  }
  // An older tessera kept it.
  ASSERT_TRUE(open().add({records().front().key, "c1", 0, 0,
                          fmt::format("{}: No space left on device", kNotCompiled)}));
  ASSERT_EQ(::unlink(lack.c_str()), 0);
  const TuneRow row = tune(t);
  EXPECT_EQ(row.problem, "");
  EXPECT_EQ(row.measured, 1u);
  EXPECT_EQ(row.best->configuration, "c1");
}

// The measuring program has no candidate's kernel in it: what fails on it, too, is the compiler.
TEST_F(TunerTest, ACompilerThatFailsOnTheProgramSaysNothingOfCandidates) {
  const std::string why = "error: #error -- unsupported GNU version!";
  ASSERT_TRUE(write_atomically(folder_.file("lack"), why + "\n"));
  toolchain_ = with_failing_compiler("compiler", "*program.cc*|*candidate_*.cc*");
  for (const bool first_valid : {false, true}) {
    auto t = task({"return 5;", "return 3;"}, first_valid ? "one" : "all");
    t.first_valid = first_valid;
    const TuneRow row = tune(t);
    EXPECT_NE(row.problem.find("could not compile `program.cc`"), std::string::npos) << row.problem;
    EXPECT_EQ(row.failed, 0u);
    EXPECT_TRUE(records().empty());
  }
  ASSERT_EQ(::unlink(folder_.file("lack").c_str()), 0);
  EXPECT_EQ(tune(task({"return 5;", "return 3;"}, "all")).measured, 2u);
}

TEST_F(TunerTest, WhatOneHostCompilerCannotIsTriedWithAnother) {
  ASSERT_TRUE(write_atomically(folder_.file("lack"), "\n"));
  const auto t = task({"return 5;", "return 3;"});
  toolchain_ = with_failing_compiler("old", "*candidate_1.cc*");
  EXPECT_EQ(tune(t).failed, 1u);
  EXPECT_EQ(tune(t).known, 2u);
  // An older tessera kept it without the compiler.
  for (const Record& record : records()) {
    if (record.failure.empty()) {
      ASSERT_TRUE(open().add({record.key, "c1", 0, 0, fmt::format("{}: x", kNotCompiled)}));
    }
  }
  toolchain_ = with_failing_compiler("new", "none");
  const TuneRow row = tune(t);
  EXPECT_EQ(row.known, 1u);
  EXPECT_EQ(row.measured, 1u);
  EXPECT_EQ(row.best->configuration, "c1");
}

// It was running when memory ran out, which says nothing of it; the others are measured.
TEST_F(TunerTest, WhoIsKilledIsTriedAgain) {
  const auto t = task({"return 5;", "return std::system(\"kill -9 $PPID\");", "return 3;"});
  for (const std::size_t measured : {2, 0}) {
    const TuneRow row = tune(t);
    EXPECT_EQ(row.problem, "the measuring program: signal 9 (Killed)");
    EXPECT_EQ(row.measured, measured);
    EXPECT_EQ(row.failed, 0u);
    EXPECT_EQ(records().size(), 2u);
  }
}

TEST_F(TunerTest, TheFirstValidOneWillDo) {
  auto t = task({"return -1;", "return 5;", "return 3;"});
  t.first_valid = true;
  const TuneRow row = tune(t);
  ASSERT_TRUE(row.best);
  EXPECT_EQ(row.best->configuration, "c1");
  EXPECT_EQ(records().size(), 2u);
  EXPECT_EQ(tune(t).known, 2u);
  EXPECT_EQ(records().size(), 2u);
}

TEST_F(TunerTest, SoManyKernelsAndNoMore) {
  EXPECT_EQ(tune(task({"return 5;", "return 4;", "return 3;"}), {.kernels = 2}).best->time_us, 4);
  // Later, with more of them, only the third is new.
  const TuneRow row = tune(task({"return 5;", "return 4;", "return 3;"}), {.kernels = 3});
  EXPECT_EQ(row.best->time_us, 3);
  EXPECT_EQ(row.measured, 1u);
  EXPECT_EQ(row.known, 2u);
}

TEST_F(TunerTest, WithoutTimeNothingIsMeasuredAndThatIsSaid) {
  const TuneRow row = tune(task({"return 5;"}), {.budget_s = 1e-9});
  EXPECT_FALSE(row.best);
  EXPECT_EQ(row.problem, "the budget was spent before all of it was measured");
  EXPECT_TRUE(records().empty());
}

TEST_F(TunerTest, WhatAProgramHadNoTimeForIsSaidAndTriedAgain) {
  const TuneRow row = tune(task({"return 5;", "__builtin_puts(\"done\"); exit(0);", "return 3;"}));
  EXPECT_EQ(row.problem, "the budget was spent before 2 of its configurations were measured");
  EXPECT_EQ(row.measured, 1u);
  const TuneRow again = tune(task({"return 5;", "return 4;", "return 3;"}));
  EXPECT_EQ(again.problem, "");
  EXPECT_EQ(again.measured, 2u);
}

TEST_F(TunerTest, AFaultOfTheProgramIsNoCandidates) {
  auto t = task({"return 5;"});
  t.program.source = Literal(
      "#include <cstdio>\n#include <cstdlib>\n"
      "int main() { std::fprintf(stderr, \"memory: out of it\\nmore\\n\"); return 1; }\n");
  const TuneRow row = tune(t);
  EXPECT_EQ(row.problem, "the measuring program: memory: out of it");
  EXPECT_TRUE(records().empty());
}

TEST_F(TunerTest, OfAnotherGpuThereIsASentence) {
  EXPECT_EQ(tune(task({"return 5;"}), {}, {"Old GPU", 8, 0, 108}).problem,
            "the GPU of this machine (Old GPU) is of architecture sm_80, the target's code is for "
            "sm_90a: give the target `cuda` -arch=sm_80");
  auto old = task({"return 5;"});
  old.device = "sm_80 108 ";
  EXPECT_EQ(tune(old).problem,
            "the GPU of this machine (Test GPU) is of architecture sm_90, the target's code is for "
            "sm_80: give the target `cuda` -arch=sm_90a");
  EXPECT_EQ(tune(task({"return 5;"}), {}, {"Small GPU", 9, 0, 114}).problem,
            "the GPU of this machine (Small GPU) has 114 multiprocessors, the target is `sm_90a "
            "132`: give it -multiprocessors=114");
  byoc::TuningTask named = task({"return 5;"});
  named.device += "This GPU";
  EXPECT_EQ(tune(named, {}, {"That GPU", 9, 0, 132}).problem,
            "the GPU of this machine is `That GPU`, the target is for `This GPU`");
  EXPECT_TRUE(records().empty());
}

TEST_F(TunerTest, TwoProcessesTuneIntoOneFile) {
  std::vector<pid_t> children;
  for (const char* workload : {"first", "second"}) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const auto t = task({"return 5;", "return 3;", "return -1;", "return 4;"}, workload);
      _exit(tune(t).best->configuration == "c1" ? 0 : 1);
    }
    children.push_back(pid);
  }
  for (const pid_t pid : children) {
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(records().size(), 8u);
  EXPECT_TRUE(open().all()->damaged.empty());
}

TEST(WorkerReports, AreReadLineByLine) {
  const WorkerReport report = parse_worker_report(
      "begin 0\nwrong 0 it is off\nnoise of a kernel\nbegin 1\ntime 1 4.5 0.25\ntime 2 nan 1\n"
      "begin 3\nhangs\ndone");
  EXPECT_EQ(report.measured,
            (std::map<std::size_t, Measured>{
                {0, {0, 0, "it is off"}}, {1, {4.5, 0.25, ""}}, {3, {0, 0, "it hangs"}}}));
  EXPECT_EQ(report.begun, 3u);
  EXPECT_FALSE(report.is_done);  // the line was cut off
  EXPECT_TRUE(parse_worker_report("done\n").is_done);
}

TEST(WorkerReports, AreReadAsTheyAreWritten) {
  const Measured timed{4.5, 0.25, ""}, wrong{0, 0, "two\nlines"};
  const WorkerReport report =
      parse_worker_report(found_line(7, "a b") + begin_line(7) + line_of(7, timed) + begin_line(8) +
                          line_of(8, wrong) + std::string(kDoneLine));
  EXPECT_EQ(report.measured,
            (std::map<std::size_t, Measured>{{7, timed}, {8, {0, 0, "two lines"}}}));
  EXPECT_EQ(report.found, (std::map<std::size_t, std::string>{{7, "a b"}}));
  EXPECT_EQ(report.begun, 8u);
  EXPECT_TRUE(report.is_done);
}

}  // namespace
}  // namespace tessera::tune
