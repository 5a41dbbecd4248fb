// SPDX-License-Identifier: Apache-2.0
// Constants made while lowering, in whole models: the numbers in both executors, what is stored,
// and what is not.
#include "driver/compile.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "link/cuda_compiler.h"
#include "ops/evaluation/compare.h"
#include "relay/text/metadata.h"
#include "support/testing/requirement.h"

namespace tessera::driver {
namespace {

using testing::ModelTest;
using testing::value_of;

constexpr std::uint64_t kWeightBytes = 4 * 32 * 32 * 9;
constexpr std::uint64_t kTransformedBytes = 4 * 32 * 32 * 36;
constexpr std::uint64_t kSmallBytes = 4096;  // all else that a library stores

// Two convolutions with one weight; `result` is what main returns of them.
std::string model(const std::string& result) {
  const Tensor weight = exec::random_input({"w", kFloat32, {32, 32, 3, 3}}, 3);
  const std::string conv =
      "nn.conv2d({}, meta[relay.Constant][0], padding=[1, 1, 1, 1], channels=32, "
      "kernel_size=[3, 3])";
  return "def @main(%x: Tensor[(1, 32, 20, 20), float32]) {\n  %0 = " +
         fmt::format(fmt::runtime(conv), "%x") +
         ";\n  %1 = nn.relu(%0);\n  %2 = " + fmt::format(fmt::runtime(conv), "%1") + ";\n  " +
         result + "\n}\n#[metadata]\n" + relay::metadata_json({weight}) + "\n";
}

class MadeConstantsTest : public ModelTest {
 protected:
  CompileOptions options_for(const std::string& text, const std::string& winograd) {
    CompileOptions o = options(text);
    o.targets.assign(1, Target().with("winograd", winograd));
    o.output = new_library();
    return o;
  }
  // The library's bytes of weights, and the first result of both executors.
  struct Ran {
    std::uint64_t weight_bytes = 0;
    Tensor from_library, in_process;
  };
  Ran run(const std::string& text, const std::string& winograd) {
    const CompileOptions o = options_for(text, winograd);
    Ran ran{value_of(compile(o)).weight_bytes, {}, {}};
    const Tensor x = exec::random_input({"x", kFloat32, {1, 32, 20, 20}}, 1);
    const auto library = value_of(exec::Session::open_library(o.output, {.threads = 2}));
    ran.from_library = value_of(library->run(std::vector{x})).at(0);
    const auto session = value_of(prepare_in_process(o, {.threads = 1}));
    ran.in_process = value_of(session->run(std::vector{x})).at(0);
    return ran;
  }
};

TEST_F(MadeConstantsTest, TakeThePlaceOfWhatTheyAreMadeOf) {
  const Ran direct = run(model("%2"), "off");
  EXPECT_TRUE(direct.from_library == direct.in_process);
  EXPECT_LT(direct.weight_bytes, kWeightBytes + kSmallBytes) << "packed, and not as it came";
  const Ran fast = run(model("%2"), "4");
  EXPECT_TRUE(fast.from_library == fast.in_process);
  EXPECT_GE(fast.weight_bytes, kTransformedBytes);
  EXPECT_LT(fast.weight_bytes, kTransformedBytes + kSmallBytes) << "once, and no other";
  EXPECT_FALSE(fast.from_library == direct.from_library);
  EXPECT_LT(ops::relative_difference(fast.from_library, direct.from_library), 2e-5);
}

TEST_F(MadeConstantsTest, LeaveWhatSomebodyElseReads) {
  const Ran both = run(model("(%2, meta[relay.Constant][0])"), "4");
  EXPECT_GE(both.weight_bytes, kTransformedBytes + kWeightBytes);
}

TEST_F(MadeConstantsTest, AreTheSameEachTime) {
  CompileOptions o = options_for(model("%2"), "4");
  o.reproducible = true;
  value_of(compile(o));
  const std::string first = *read_file(o.output);
  value_of(compile(o));
  EXPECT_TRUE(first == *read_file(o.output));
}

// Four elements of the window in place of three, each way.
TEST_F(MadeConstantsTest, AreMadeForDevices) {
  if (!tessera::testing::is_there("nvcc", link::find_cuda_compiler().has_value())) {
    GTEST_SKIP() << "there is no nvcc";
  }
  for (const auto& [winograd, bytes] :
       {std::pair("off", kWeightBytes), std::pair("2", kWeightBytes * 16 / 9)}) {
    CompileOptions o = options_for(model("%2"), "off");
    o.targets.assign(1, value_of(parse_target(fmt::format("cuda -winograd={}", winograd))));
    const std::uint64_t found = value_of(compile(o)).weight_bytes;
    EXPECT_GE(found, bytes) << winograd;
    EXPECT_LT(found, bytes + kSmallBytes) << winograd;
  }
}

}  // namespace
}  // namespace tessera::driver
