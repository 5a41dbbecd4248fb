// SPDX-License-Identifier: Apache-2.0
// One library, any mix: partitions of all back ends and native code in one model, cut in all the
// ways that have gone wrong elsewhere.
#include <algorithm>
#include <random>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "command.h"
#include "constants/npy.h"
#include "whole_model.h"

namespace tessera::e2e {
namespace {

using Json = nlohmann::json;

// A diamond around native code that must not become a cycle (%2, %3, %4, %5), a weight in two
// partitions (%w), a value used inside and outside of its region (%2), a nested tuple, a result
// twice, a parameter and a constant returned as they are.
constexpr const char* kMixedModel = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(4, 16), float32], %d: Tensor[(4, 16), float64], %k: Tensor[(2, 8), int32], %w: Tensor[(16, 16), float32], %b: Tensor[(16), float32], %v: Tensor[(16, 16), float64], %c: Tensor[(4, 16), float32]) {
  %0 = nn.dense(%x, %w, units=16);
  %1 = nn.bias_add(%0, %b);
  %2 = nn.relu(%1);
  %3 = cumsum(%2, axis=1);
  %4 = nn.dense(%2, %w, units=16);
  %5 = add(%3, %4);
  %6 = nn.dense(%d, %v, units=16);
  %7 = subtract(%5, %c);
  %8 = negative(%7);
  %9 = cumsum(%c, axis=0);
  %10 = add(%9, %8);
  %11 = (%k, %k);
  %12 = concatenate(%11, axis=1);
  %13 = (%7, %12);
  (%2, %6, %10, %13, %12, %x, %c)
}
)";

Tensor random_tensor(std::vector<std::int64_t> shape, DType dtype, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::int64_t count = 1;
  for (const std::int64_t d : shape) count *= d;
  std::vector<std::byte> bytes(static_cast<std::size_t>(count * dtype.size_bytes()));
  for (std::int64_t i = 0; i < count; ++i) {
    const double x = value(random);
    const auto single = static_cast<float>(x);
    const bool wide = dtype == kFloat64;
    std::memcpy(bytes.data() + i * dtype.size_bytes(),
                wide ? static_cast<const void*>(&x) : &single, wide ? sizeof x : sizeof single);
  }
  return {std::move(shape), dtype, Blob::adopt(std::move(bytes))};
}

std::size_t occurrences(const std::string& text, std::span<const std::byte> part) {
  const std::string wanted(reinterpret_cast<const char*>(part.data()), part.size());
  std::size_t count = 0;
  for (auto at = text.find(wanted); at != std::string::npos; at = text.find(wanted, at + 1)) {
    ++count;
  }
  return count;
}

class AnyMix : public ::testing::Test {
 protected:
  AnyMix() {
    command_.share_cache();
    command_.write("free.relay", kMixedModel);
    EXPECT_TRUE(
        write_npz(command_.file("weights.npz"), {{"w", random_tensor({16, 16}, kFloat32, 1)},
                                                 {"b", random_tensor({16}, kFloat32, 2)},
                                                 {"v", random_tensor({16, 16}, kFloat64, 3)},
                                                 {"c", shared_}}));
    run({"opt", "free.relay", "--passes", "bind-params-by-name{file=weights.npz}", "-o",
         "model.relay"});
  }

  ProcessResult run(const std::vector<std::string>& arguments) {
    const ProcessResult result = command_.run(arguments);
    EXPECT_TRUE(result.ok()) << result.outcome() << "\n" << result.err;
    return result;
  }

  std::string outputs_of(const std::string& what, const std::string& name,
                         const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run", what, "--outputs", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    run(arguments);
    return command_.file(name);
  }

  const Tensor shared_ = random_tensor({4, 16}, kFloat32, 4);
  Command command_;
};

const std::vector<std::string> kAll = {"--backends", "onednn,blas,ccompiler,example_target_hook"};

TEST_F(AnyMix, FiveWaysOfComputingInOneLibrary) {
  std::vector<std::string> compile = {"compile", "model.relay", "-o", "mix.so", "--json"};
  compile.insert(compile.end(), kAll.begin(), kAll.end());
  const Json report = Json::parse(run(compile).out);
  std::set<std::string> used;
  for (const Json& row : report["placement"]) used.insert(row["backend"].get<std::string>());
  EXPECT_EQ(used, (std::set<std::string>{"onednn", "blas", "ccompiler", "example_target_hook",
                                         "native"}));

  const std::string mixed = outputs_of("mix.so", "mixed");
  EXPECT_LE(largest_difference(outputs_of("model.relay", "plain", {"--partition", "none"}), mixed),
            1e-5);
  EXPECT_LE(largest_difference(outputs_of("model.relay", "interpreted", kAll), mixed), 1e-6);
}

TEST_F(AnyMix, AConstantOfSeveralPartitionsIsStoredOnce) {
  std::vector<std::string> compile = {"compile", "model.relay", "-o", "mix.so"};
  compile.insert(compile.end(), kAll.begin(), kAll.end());
  run(compile);
  const auto library = read_file(command_.file("mix.so"));
  ASSERT_TRUE(library);
  EXPECT_EQ(occurrences(*library, shared_.blob->bytes()), 1u);
}

// Any two back ends live in one library.
TEST_F(AnyMix, EveryPairOfBackEnds) {
  const std::string plain = outputs_of("model.relay", "plain", {"--partition", "none"});
  const std::vector<std::string> names = {"onednn", "blas", "ccompiler", "openvino",
                                          "example_target_hook"};
  for (const std::string& a : names) {
    for (const std::string& b : names) {
      if (a == b) continue;
      const std::string library = a + "_" + b + ".so";
      run({"compile", "model.relay", "-o", library, "--backends", a + "," + b});
      EXPECT_LE(largest_difference(outputs_of(library, a + "_" + b), plain), 1e-5) << library;
    }
  }
}

}  // namespace
}  // namespace tessera::e2e
