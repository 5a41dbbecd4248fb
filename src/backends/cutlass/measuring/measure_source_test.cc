// SPDX-License-Identifier: Apache-2.0
// The programs that measure; no device is needed.
#include "backends/cutlass/measuring/measure_source.h"

#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/testing/kernel_test.h"
#include "backends/cutlass/testing/models.h"
#include "backends/cutlass/testing/tuning_tasks.h"
#include "link/cuda_compiler.h"
#include "link/link_library.h"
#include "link/toolchain.h"
#include "support/files.h"
#include "support/subprocess.h"
#include "support/testing/golden.h"

namespace tessera::backends {
namespace {

using cutlass::testing::can_compile;
using cutlass::testing::first_of_kernels;
using cutlass::testing::has_nvcc;
using cutlass::testing::in_float32;
using cutlass::testing::kAttention;
using cutlass::testing::kConvolutions;
using cutlass::testing::kFeedForward;
using cutlass::testing::tasks_of;
using tessera::testing::expect_golden;

// What is measured with, as text: the programs of products and of attention, also in float32, and
// their tables for two candidates.
TEST(CutlassMeasuring, ProgramsAreText) {
  auto tasks = tasks_of(kFeedForward);
  for (const std::string& text : {std::string(kAttention), in_float32(kAttention)}) {
    tasks.push_back(tasks_of(text).front());
  }
  const std::size_t some[] = {0, 1};
  std::string text;
  for (const byoc::TuningTask& task : tasks) {
    text += task.title + "\n" + task.program.source.text() + "\n" + task.table(some).source.text() +
            "\n";
  }
  expect_golden(TESSERA_SOURCE_DIR "/src/backends/cutlass/testdata/measure.txt", text);
}

// Kernels with a name each that are launched on testing/fake_cudart.cc, and how they behave.
CompileJob fake_kernels(const byoc::TuningTask& task, std::span<const std::size_t> numbers,
                        const std::string& behaviours) {
  std::string text =
      "#include \"tessera/call.h\"\n"
      "struct Behaviour {\n"
      "  double us;\n  bool is_wrong;\n  const char* refusal;\n  int faulty_replay;\n"
      "  unsigned host_us;\n};\n"
      "extern \"C\" {\nint32_t fake_launch(int, const tessera_call*);\n";
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    text += fmt::format(
        "int32_t {}(const tessera_call* call, const void*) {{\n"
        "  return fake_launch({}, call);\n}}\n",
        task.candidates[numbers[i]].kernel->name, i);
  }
  return {"fake_kernels",
          Source::trusted(text + "extern const Behaviour fake_candidates[] = {" + behaviours +
                          "};\n}\n"),
          "cc",
          {}};
}

std::size_t count_of(const std::string& text, const std::string& line) {
  std::size_t count = 0, at = 0;
  for (; (at = text.find(line + "\n", at)) != std::string::npos; at += line.size()) ++count;
  return count;
}

// A measuring program on a runtime of CUDA that only counts time.
class FakeRun {
 public:
  // Runs the first candidate of each of so many kernels as there are behaviours.
  FakeRun(link::Toolchain& toolchain, const byoc::TuningTask& task,
          const std::vector<std::string>& behaviours)
      : folder_(*TempDir::make("tessera-measure")) {
    const auto fake = read_file(TESSERA_SOURCE_DIR "/src/backends/cutlass/testing/fake_cudart.cc");
    const auto numbers = first_of_kernels(task, behaviours.size());
    CompileJob runtime{"fake_cudart", Source::trusted(*fake), "cc", {}};
    runtime.include_folders = {link::find_cuda_compiler()->toolkit + "/include"};
    const CompileJob jobs[] = {
        task.program, task.table(numbers), runtime,
        fake_kernels(task, numbers, fmt::format("{}", fmt::join(behaviours, ", ")))};
    const auto objects = toolchain.compile(jobs);
    EXPECT_TRUE(objects) << render(objects.error());
    const auto linked = link::link_program(toolchain, *objects, {}, folder_.file("measure"));
    EXPECT_TRUE(linked) << render(linked.error());
  }
  std::string run(const char* seconds, const char* first_valid, const char* skipped,
                  int exit_status = 0) const {
    const auto ran = run_process({folder_.file("measure"), seconds, first_valid, skipped});
    EXPECT_TRUE(ran);
    EXPECT_EQ(ran->exit_status, exit_status) << ran->err;
    return ran->out;
  }

 private:
  TempDir folder_;
};

// The program itself: whoever is wrong has no time, whoever is near the best stays to the end, and
// so for a while does the first.
TEST(CutlassMeasuring, ProgramsCheckFirstAndLetTheBestTakeTurns) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const FakeRun program(
      *toolchain, tasks_of(kFeedForward).front(),
      {"{5, 0, 0}", "{1, 1, 0}", "{4.08, 0, 0}", "{4, 0, 0}", "{1, 0, \"too wide\"}", "{9, 0, 0}"});
  const std::string all = program.run("60", "0", "");
  for (const char* line : {"wrong 4 too wide", "time 0 5.0000 0.0000", "time 2 4.0800 0.0000",
                           "time 3 4.0000 0.0000", "time 5 9.0000 0.0000", "done"}) {
    EXPECT_EQ(count_of(all, line), 1u) << line << "\n" << all;
  }
  EXPECT_NE(all.find("wrong 1 it computes wrong numbers: off by 1 "), std::string::npos) << all;
  EXPECT_EQ(count_of(all, "begin 0"), 1 + 1 + 5u);  // a look, the load before the others, turns
  EXPECT_EQ(count_of(all, "begin 2"), 1 + 21u);
  EXPECT_EQ(count_of(all, "begin 3"), 1 + 21u);
  EXPECT_EQ(count_of(all, "begin 5"), 1u);
  const std::string alone = program.run("60", "0", "1,2,4,5");
  EXPECT_EQ(count_of(alone, "begin 3"), 1 + 7u);  // nobody else is left after the look
  EXPECT_EQ(count_of(program.run("60", "1", "0,1"), "begin 3"), 0u);  // 2 is valid
  const std::string late = program.run("0", "0", "0");
  EXPECT_EQ(count_of(late, "time 2 4.0800 0.0000"), 1u) << late;
  EXPECT_EQ(count_of(late, "begin 3"), 0u) << late;
}

// Half of a short time is for turns, and fewer candidates take part.
TEST(CutlassMeasuring, ProgramsKeepTimeForTurns) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const std::string slow = "{4, 0, 0, 0, 32000}";  // a look at it takes 0.9 s
  const FakeRun program(*toolchain, tasks_of(kFeedForward).front(), std::vector(6, slow));
  const std::string short_run = program.run("6", "0", "");
  EXPECT_EQ(count_of(short_run, "begin 1"), 1 + 21u) << short_run;
  EXPECT_EQ(count_of(short_run, "begin 3"), 0u) << short_run;
}

// A kernel that faults in a replay, which a later call tells, is named, and whoever starts the
// program again without it has the others' times.
TEST(CutlassMeasuring, ProgramsNameWhoFaultsInAReplay) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  // Replays of its short look, in turns that nobody times, and timed ones.
  for (const int replay : {1, 2, 6, 7, 150, 1000}) {
    SCOPED_TRACE(replay);
    const FakeRun program(*toolchain, tasks_of(kFeedForward).front(),
                          {"{5, 0, 0}", fmt::format("{{4, 0, 0, {}}}", replay), "{6, 0, 0}"});
    const std::string all = program.run("60", "0", "", 4);
    EXPECT_TRUE(all.ends_with("begin 1\nfailed 1 an illegal memory access was encountered\n"))
        << all;
    const std::string others = program.run("60", "0", "1");
    EXPECT_EQ(count_of(others, "time 0 5.0000 0.0000"), 1u) << others;
    EXPECT_EQ(count_of(others, "time 2 6.0000 0.0000"), 1u) << others;
  }
}

TEST(CutlassMeasuring, ProgramsOfConvolutionsAndAttentionDoTheSame) {
  if (!has_nvcc()) GTEST_SKIP() << "there is no nvcc";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  for (const byoc::TuningTask& task :
       {tasks_of(kConvolutions, Target("cutlass"), {{"n", Dim(8)}}).front(),
        tasks_of(kAttention).front()}) {
    SCOPED_TRACE(task.title);
    const FakeRun program(*toolchain, task, {"{5, 1, 0}", "{6, 0, 0}", "{5, 0, 0}"});
    const std::string all = program.run("60", "0", "");
    for (const char* line : {"time 1 6.0000 0.0000", "time 2 5.0000 0.0000", "done"}) {
      EXPECT_EQ(count_of(all, line), 1u) << line << "\n" << all;
    }
    EXPECT_NE(all.find("wrong 0 it computes wrong numbers"), std::string::npos) << all;
  }
}

// The whole program, with one kernel of a product with odd rows. Without a GPU it says so.
TEST(CutlassKernels, AreLinkedIntoAProgramThatMeasuresThem) {
  if (!can_compile()) GTEST_SKIP() << "there is no nvcc, or CUTLASS is not there";
  auto toolchain = link::Toolchain::find({.root = TESSERA_BUILD_DIR, .jobs = 2});
  ASSERT_TRUE(toolchain) << render(toolchain.error());
  const auto tasks = tasks_of(R"(
def @main(%odd: Tensor[(31, 13), float16], %t: Tensor[(7, 13), float16],
          %s: Tensor[(31, 7), float16]) {
  add(nn.dense(%odd, %t, units=None), %s)
})");
  ASSERT_EQ(tasks.size(), 1u);
  const byoc::TuningTask& task = tasks.front();
  const std::size_t first[] = {0};
  const CompileJob jobs[] = {task.program, *task.candidates.front().kernel, task.table(first)};
  const auto objects = toolchain->compile(jobs);
  ASSERT_TRUE(objects) << render(objects.error());
  const auto folder = TempDir::make("tessera-measure");
  ASSERT_TRUE(folder);
  const auto linked =
      link::link_program(*toolchain, *objects, task.cuda_libraries, folder->file("measure"));
  ASSERT_TRUE(linked) << render(linked.error());
  const auto ran = run_process({folder->file("measure"), "5", "0", ""});
  ASSERT_TRUE(ran);
  if (ran->ok()) {
    EXPECT_NE(ran->out.find("time 0 "), std::string::npos) << ran->out;
    EXPECT_TRUE(ran->out.ends_with("done\n")) << ran->out;
  } else {
    EXPECT_EQ(ran->exit_status, 1) << ran->outcome();
    EXPECT_EQ(ran->err.find("the GPU: "), 0u) << ran->err;
  }
}

}  // namespace
}  // namespace tessera::backends
