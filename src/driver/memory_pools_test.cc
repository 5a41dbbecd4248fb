// SPDX-License-Identifier: Apache-2.0
// --pool and --plan-memory, through whole compilations.
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "plan/algorithm.h"
#include "support/files.h"
#include "types/target_list.h"

namespace tessera::driver {
namespace {

using testing::value_of;

// Three softmaxes, of which no two are one kernel: results of 4096 bytes that live in turns.
constexpr const char* kSoftmaxes =
    "def @main(%x: Tensor[(16, 64), float32]) {\n"
    "  %0 = nn.softmax(%x); %1 = nn.softmax(%0); %2 = nn.softmax(%1); %3 = nn.softmax(%2);\n"
    "  (%3, add(%1, %3))\n}\n";

class MemoryPools : public testing::ModelTest {
 protected:
  CompileOptions with_pools(const std::vector<std::string>& texts) {
    CompileOptions o = options(kSoftmaxes);
    o.dump_dir = folder_.file("dump");
    o.memory.pools = value_of(plan::parse_pools(texts));
    return o;
  }
  static std::vector<Tensor> results(const CompileOptions& o) {
    const auto session = value_of(prepare_in_process(o, {.threads = 1}));
    return value_of(session->run(std::vector<Tensor>{exec::random_input(session->inputs()[0], 1)}));
  }
  static std::string error_of(const CompileOptions& o) {
    const auto done = compile(o);
    return done ? "" : render(done.error());
  }
};

TEST_F(MemoryPools, ResultsDoNotDependOnThem) {
  const std::vector<Tensor> wanted = results(options(kSoftmaxes));
  for (const plan::Algorithm* algorithm : plan::algorithms()) {
    CompileOptions o = with_pools({"name=fast,size=4096", "name=slow,align=256"});
    o.memory.algorithm = algorithm->name;
    EXPECT_TRUE(results(o) == wanted) << algorithm->name;
    const std::string plan = *read_file(o.dump_dir + "/plan.txt");
    EXPECT_NE(plan.find("pool fast 4096 of 4096 bytes\npool slow "), std::string::npos) << plan;
  }
}

TEST_F(MemoryPools, LibrariesHaveThemToo) {
  CompileOptions o = with_pools({"name=fast,size=4kB", "name=mid,size=8kB", "name=slow"});
  const CompileReport report = value_of(compile(o));
  const auto session = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  const Tensor x = exec::random_input(session->inputs()[0], 1);
  EXPECT_TRUE(value_of(session->run(std::vector<Tensor>{x})) == results(options(kSoftmaxes)));
  EXPECT_GE(report.arena_bytes, 2 * 4096u);
}

TEST_F(MemoryPools, TooLittleIsAnErrorThatSaysWhatIsLeft) {
  const std::string text = error_of(with_pools({"name=fast,size=4kB", "name=mid,size=4100"}));
  EXPECT_NE(text.find("error[E0504]: no memory pool has room for `"), std::string::npos) << text;
  EXPECT_NE(text.find("(4096 bytes): `fast` of 4000 bytes has 4000 left while it lives, in one "
                      "piece 4000; `mid` of 4100 bytes has 4 left while it lives"),
            std::string::npos)
      << text;
}

TEST_F(MemoryPools, OfAnotherSpaceAreRefused) {
  for (const char* space : {"pinned", "cuda"}) {
    const std::string text = error_of(with_pools({std::string("name=far,space=") + space}));
    EXPECT_NE(text.find("pool `far` is in the memory space `" + std::string(space)),
              std::string::npos)
        << text;
  }
}

TEST_F(MemoryPools, AreForFunctionsOfTheirTargets) {
  const std::string text = error_of(with_pools({"name=theirs,targets=onednn"}));
  EXPECT_NE(text.find("which functions of cpu use"), std::string::npos) << text;
  CompileOptions o = with_pools({"name=theirs,targets=onednn", "name=ours,targets=cpu"});
  value_of(compile(o));
  EXPECT_NE(read_file(o.dump_dir + "/plan.txt")->find("pool theirs 0 bytes\npool ours "),
            std::string::npos);
}

TEST_F(MemoryPools, InputsAndOutputsLieThereOnRequest) {
  const std::vector<Tensor> wanted = results(options(kSoftmaxes));
  for (const plan::Algorithm* algorithm : plan::algorithms()) {
    CompileOptions o = with_pools({});
    o.memory.places_ports = true;
    o.memory.algorithm = algorithm->name;
    EXPECT_TRUE(results(o) == wanted) << algorithm->name;
    const std::string plan = *read_file(o.dump_dir + "/plan.txt");
    EXPECT_NE(plan.find(" bytes 4096 x ticks 0.."), std::string::npos) << plan;
  }
}

TEST_F(MemoryPools, LibrariesTellWhereInputsAndOutputsLie) {
  CompileOptions o = with_pools({"name=fast,size=4kB", "name=slow"});
  o.memory.places_ports = true;
  value_of(compile(o));
  const auto session = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  const Tensor x = exec::random_input(session->inputs()[0], 1);
  EXPECT_TRUE(value_of(session->run(std::vector<Tensor>{x})) == results(options(kSoftmaxes)));
  const std::string metadata = session->metadata();
  EXPECT_NE(metadata.find(R"("shape":[16,64],"pool":"slow","offset":)"), std::string::npos)
      << metadata;
}

// An output is read behind the last statement: nothing that is computed there may lie in it.
TEST_F(MemoryPools, OutputsOfTheLastStatementsLieApart) {
  CompileOptions o = options(
      "def @main(%x: Tensor[(16, 64), float32]) {\n"
      "  %0 = nn.softmax(%x);\n  (%0, tanh(%0))\n}\n");
  const std::vector<Tensor> wanted = results(o);
  o.memory.places_ports = true;
  EXPECT_TRUE(results(o) == wanted);
}

TEST_F(MemoryPools, SizesWithoutABoundHaveNoPlace) {
  CompileOptions o = options("def @main(%x: Tensor[(?n, 64), float32]) { nn.softmax(%x) }\n");
  o.memory.places_ports = true;
  EXPECT_NE(error_of(o).find("error[E0504]: `x` has no place in a memory pool: its size has no "
                             "bound that could be reserved"),
            std::string::npos)
      << error_of(o);
}

TEST_F(MemoryPools, BoundedSizesHaveThePlaceOfTheLargest) {
  CompileOptions o = options(
      "#[symbol n = 0..16]\n"
      "def @main(%x: Tensor[(?n, 64), float32]) { tanh(nn.softmax(%x)) }\n");
  const auto wanted = value_of(prepare_in_process(o, {.threads = 1}));
  o.memory.places_ports = true;
  value_of(compile(o));
  const auto session = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  for (const std::int64_t n : {3, 16, 0, 1}) {
    const std::vector<double> numbers(static_cast<std::size_t>(n * 64), 0.5);
    const std::vector<Tensor> x = {tensor_from_doubles({n, 64}, kFloat32, numbers)};
    EXPECT_TRUE(value_of(session->run(x)) == value_of(wanted->run(x))) << n;
  }
}

TEST_F(MemoryPools, OutputsWhoseSizesDependOnDataHaveNoPlace) {
  CompileOptions o = options("def @main(%x: Tensor[(16, 64), float32]) { argwhere(%x) }\n");
  o.memory.places_ports = true;
  EXPECT_NE(error_of(o).find("has no place in a memory pool"), std::string::npos) << error_of(o);
}

TEST_F(MemoryPools, AnUnknownAlgorithmIsNamed) {
  CompileOptions o = options(kSoftmaxes);
  o.memory.algorithm = "magic";
  EXPECT_NE(error_of(o).find("`magic` is no algorithm that plans memory"), std::string::npos);
}

}  // namespace
}  // namespace tessera::driver
