// SPDX-License-Identifier: Apache-2.0
// One library with code for several processors: which is taken, and what is stored once.
#include <algorithm>

#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "ops/evaluation/compare.h"
#include "relay/text/metadata.h"
#include "runtime/program.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

constexpr std::uint64_t kWeightBytes = 4 * 64 * 64, kTableBytes = 4 * 100 * 64;

// Rows of a table, of any number, and their product with a matrix, which is packed for the
// processor.
std::string model() {
  const Tensor table = exec::random_input({"t", kFloat32, {100, 64}}, 3);
  const Tensor weight = exec::random_input({"w", kFloat32, {64, 64}}, 4);
  return "def @main(%x: Tensor[(16, 64), float32], %i: Tensor[(?n), int64]) {\n"
         "  %0 = nn.dense(%x, meta[relay.Constant][1], units=64);\n"
         "  %1 = take(meta[relay.Constant][0], %i, axis=0);\n  (nn.relu(%0), exp(%1))\n}\n"
         "#[metadata]\n" +
         relay::metadata_json({table, weight}) + "\n";
}

class SeveralProcessorsTest : public ModelTest {
 protected:
  void SetUp() override {
    if (tessera_cpu_has("avx2") != 1 || tessera_cpu_has("fma") != 1) {
      GTEST_SKIP() << "needs a CPU with AVX2";
    }
  }
  void TearDown() override { ::unsetenv("TESSERA_DISABLE_CPU_FEATURES"); }

  CompileOptions options_for(const std::string& mcpu) {
    CompileOptions o = options(model());
    o.targets = {Target().with("mcpu", mcpu)};
    o.partition = Partition::kNone;
    o.output = new_library();
    return o;
  }
  std::vector<Tensor> run(exec::Session& session) { return value_of(session.run(inputs_)); }
  // The processor that the kernels' names end with: "" for the first of the library.
  static bool takes(exec::Session& session, const std::string& suffix) {
    const auto times = session.kernel_times();
    return !times.empty() && times.front().kernel.ends_with(suffix);
  }

  const std::vector<Tensor> inputs_ = {
      exec::random_input({"x", kFloat32, {16, 64}}, 1),
      tensor_from_doubles({3}, kInt64, std::vector<double>{5, 99, 0})};
};

TEST_F(SeveralProcessorsTest, TheBestThatTheMachineHasIsTaken) {
  const std::vector<Tensor> expected =
      run(*value_of(prepare_in_process(options_for("x86-64-v3"), {.threads = 1})));
  CompileOptions o = options_for("x86-64-v2,x86-64-v3,sapphirerapids");
  value_of(compile(o));
  ::setenv("TESSERA_DISABLE_CPU_FEATURES", "amx-tile", 1);
  const auto library = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  EXPECT_TRUE(takes(*library, "_x86_64_v3")) << library->kernel_times().front().kernel;
  const auto in_process = value_of(prepare_in_process(o, {.threads = 1}));
  for (exec::Session* session : {library.get(), in_process.get()}) {
    const std::vector<Tensor> results = run(*session);
    for (std::size_t i = 0; i < results.size(); ++i) EXPECT_TRUE(results[i] == expected[i]);
  }
  ::setenv("TESSERA_DISABLE_CPU_FEATURES", "amx-tile,avx2", 1);
  const auto older = value_of(exec::Session::open_library(o.output, {.threads = 1}));
  EXPECT_TRUE(takes(*older, "_x86_64_v2"));
  const std::vector<Tensor> results = run(*older);
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_LT(ops::relative_difference(results[i], expected[i]), 1e-5);
  }
}

TEST_F(SeveralProcessorsTest, NoneThatTheMachineHasIsOneSentence) {
  CompileOptions o = options_for("x86-64-v4,x86-64-v3");
  value_of(compile(o));
  ::setenv("TESSERA_DISABLE_CPU_FEATURES", "avx2", 1);
  const auto refused = exec::Session::open_library(o.output, {.threads = 1});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().list[0].message.find("`cpu -mcpu=x86-64-v3`) was compiled for a CPU "
                                                 "with avx2, which this one does not have"),
            std::string::npos)
      << render(refused.error());
}

// The table is read as it came by all; the matrix is packed for vectors of two lengths.
TEST_F(SeveralProcessorsTest, EqualWeightsAreStoredOnce) {
  const auto bytes = [&](const std::string& mcpu) {
    return value_of(compile(options_for(mcpu))).weight_bytes;
  };
  const std::uint64_t one = bytes("x86-64-v3");
  EXPECT_GE(one, kWeightBytes + kTableBytes);
  EXPECT_EQ(bytes("x86-64-v3,haswell"), one);
  EXPECT_LE(bytes("x86-64-v3,x86-64-v4"), one + kWeightBytes);
  EXPECT_GT(bytes("x86-64-v3,x86-64-v4"), one);
}

TEST_F(SeveralProcessorsTest, BytesDependOnTheListAlone) {
  CompileOptions o = options_for("x86-64-v3,x86-64-v4,znver5");
  o.reproducible = true;
  value_of(compile(o));
  const std::string first = *read_file(o.output);
  ::setenv("TESSERA_DISABLE_CPU_FEATURES", "avx512f", 1);
  value_of(compile(o));
  EXPECT_TRUE(first == *read_file(o.output)) << "the machine that compiles shows";
}

// Those of the processor that is here, whatever their names end with.
TEST_F(SeveralProcessorsTest, KernelsAreVerified) {
  CompileOptions o = options_for("x86-64-v3,sapphirerapids");
  o.verify = true;
  ::setenv("TESSERA_DISABLE_CPU_FEATURES", "amx-tile", 1);
  const CompileReport report = value_of(compile(o));
  const auto found = std::ranges::find(report.stages, "verify", &StageTime::name);
  ASSERT_NE(found, report.stages.end());
  EXPECT_EQ(found->result.find("compute no operator"), std::string::npos) << found->result;
  EXPECT_NE(found->result.find("packed for them: k"), std::string::npos) << "the product";
}

// The table is packed once, and each processor unpacks its own matrix alone.
TEST_F(SeveralProcessorsTest, WeightsCanBePacked) {
  CompileOptions o = options_for("x86-64-v3,x86-64-v4");
  value_of(compile(o));
  const std::vector<Tensor> expected =
      run(*value_of(exec::Session::open_library(o.output, {.threads = 1})));
  o.weights = {"lossless"};
  o.output = new_library();
  const CompileReport packed = value_of(compile(o));
  EXPECT_LT(packed.weight_bytes, 2 * kWeightBytes + kTableBytes);
  for (const char* disabled : {"", "avx512f"}) {
    ::setenv("TESSERA_DISABLE_CPU_FEATURES", disabled, 1);
    const auto library = value_of(exec::Session::open_library(o.output, {.threads = 1}));
    const std::vector<Tensor> results = run(*library);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_LT(ops::relative_difference(results[i], expected[i]), 1e-5) << disabled;
    }
  }
}

TEST_F(SeveralProcessorsTest, ParametersCanBeLinked) {
  CompileOptions o = options_for("x86-64-v4,x86-64-v3");
  std::vector<Tensor> results;
  for (const bool linked : {false, true}) {
    o.link_params = linked;
    o.output = new_library();
    value_of(compile(o));
    results.push_back(run(*value_of(exec::Session::open_library(o.output, {.threads = 2})))[0]);
  }
  EXPECT_TRUE(results[0] == results[1]);
}

TEST_F(SeveralProcessorsTest, AGpuHasOneHost) {
  CompileOptions o = options_for("x86-64-v3,x86-64-v4");
  o.targets.push_back(Target("cuda"));
  const auto refused = compile(o);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().list[0].message.find("one processor of its host"), std::string::npos)
      << render(refused.error());
}

}  // namespace
}  // namespace tessera::driver
