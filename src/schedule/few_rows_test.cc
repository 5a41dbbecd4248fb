// SPDX-License-Identifier: Apache-2.0
// Products of few rows on devices: the loops beside the reference, in the form that emitters know
// again, and what is left to other rules.
#include "tir/few_rows.h"

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/device.h"
#include "support/testing/golden.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"
#include "tir/verify_teams.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

tir::PrimFunc scheduled(const relay::Function& f, const Device& device = {}) {
  auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_device_kernel(*std::move(plain), device);
}

// Its sums in a launch, if it has some.
std::optional<tir::FewRowsSums> sums_of(const tir::PrimFunc& kernel) {
  std::optional<tir::FewRowsSums> found;
  tir::Bounds bounds;
  for (const tir::Expr& dim : kernel.dims) bounds.set(dim, {0, tir::Interval::kAny});
  tir::for_each_node(kernel.body, [&](const tir::Stmt& s) {
    const auto* loop = s.as<tir::For>();
    if (loop == nullptr) return;
    if (loop->loop == tir::ForKind::kBlocks) bounds.set_loop(loop->var, loop->min, loop->extent);
    if (auto sums = tir::as_few_rows_sums(*loop, bounds)) found = std::move(sums);
  });
  return found;
}

const char* const kBias =
    "def @main(%x: Tensor[(2, 3, 128), float16], %w: Tensor[(2, 2, 128), int32],"
    " %s: Tensor[(2, 2, 16), bfloat16], %z: Tensor[(2, 2, 16), bfloat16],"
    " %b: Tensor[(25), float16]) {\n  %0 = qnn.dense_fragments(%x, %w, %s, %z, units=25,"
    " block_size=64, terms=128);\n  nn.gelu(add(%0, %b))\n}\n";
const char* const kOpenRows =
    "def @main(%x: Tensor[(?n, 256), float16], %w: Tensor[(5, 4, 128), int32],"
    " %s: Tensor[(5, 2, 16), float16]) {\n  qnn.dense_fragments(%x, %w, %s, 8f, units=80,"
    " block_size=128, terms=256)\n}\n";

class FewRows : public ::testing::TestWithParam<const char*> {};

TEST_P(FewRows, EqualEvalAndAreKnownAgain) {
  const relay::Function f = run::function_of(GetParam());
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const tir::PrimFunc kernel = scheduled(f);
  const std::string text = GetParam() + ("\n" + tir::print(kernel, "kernel"));
  EXPECT_TRUE(sums_of(kernel)) << text;
  const auto valid = tir::verify(kernel, "kernel");
  ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
  EXPECT_TRUE(tir::verify_teams(kernel).empty()) << text;
  run::expect_close(run::evaluated(f, inputs), run::interpreted(kernel, inputs), text);
}

// Small: loops are interpreted.
INSTANTIATE_TEST_SUITE_P(
    Words, FewRows,
    ::testing::Values(
        "qnn.dense_fragments(float16[1,256], int32[3,4,128]{-2147483648..2147483647}, "
        "bfloat16[3,2,16], float32[]=8, units=41, block_size=128)",
        "qnn.dense_fragments(bfloat16[5,122], int32[2,2,128]{-2147483648..2147483647}, "
        "float32[2,4,16], float32[2,4,16], units=32)",
        "qnn.dense_fragments(float32[2,8,64], int32[1,1,128]{-2147483648..2147483647}, "
        "float16[1,1,16], float32[]=3, units=16, block_size=64)",
        "qnn.dense_fragments(float16[17,64], int32[2,2,128]{-2147483648..2147483647}, "
        "bfloat16[2,1,16], float32[]=128, units=20, bits=8, block_size=64)",
        "qnn.dense_fragments(float16[40,50], int32[1,1,128]{-2147483648..2147483647}, "
        "bfloat16[1,1,16], bfloat16[1,1,16], units=16, bits=2, block_size=128)",
        "qnn.dense_fragments(float16[128], int32[2,2,128]{-2147483648..2147483647}, "
        "float32[2,4,16], float32[]=0, units=32)",
        kBias));
INSTANTIATE_TEST_SUITE_P(
    Plain, FewRows,
    ::testing::Values("nn.dense(float16[1,136], float16[70,136], units=70)",
                      "nn.dense(bfloat16[2,1,128], bfloat16[80,128], units=80)",
                      "nn.dense(float16[3,128], float16[64,128], units=64, "
                      "out_dtype=\"float32\")"));

// Tiles share a block where enough blocks are left, and few blocks have more threads.
TEST(FewRowsBlocks, AreByHowManyColumnsThereAre) {
  const auto block_of = [](int tiles, int bits, int steps = 16) {
    const auto text = fmt::format(
        "qnn.dense_fragments(float16[1,{0}], int32[{1},{2},128], bfloat16[{1},1,16], float32[]=8, "
        "units={3}, bits={4}, block_size={0})",
        steps * 256 / bits, tiles, steps, tiles * 16, bits);
    const auto sums = sums_of(scheduled(run::function_of(text.c_str())));
    return std::pair(sums->columns(), tir::few_rows_threads(sums->product, sums->columns()));
  };
  EXPECT_EQ(block_of(64, 4), std::pair(16L, 512)) << "one block for each multiprocessor, or less";
  EXPECT_EQ(block_of(64, 4, 15), std::pair(16L, 256)) << "a step for each warp, or more";
  EXPECT_EQ(block_of(256, 4), std::pair(32L, 512));
  EXPECT_EQ(block_of(516, 4), std::pair(64L, 256)) << "more threads have no room";
  EXPECT_EQ(block_of(514, 4), std::pair(32L, 512));
  EXPECT_EQ(block_of(515, 4), std::pair(16L, 256)) << "no tile is left over";
  EXPECT_EQ(block_of(256, 8), std::pair(16L, 512));
  EXPECT_EQ(block_of(896, 8), std::pair(32L, 256));
}

TEST(OtherProducts, AreLeftToOtherRules) {
  for (const char* text : {"nn.dense(float16[17,256], float16[70,256], units=70)",
                           "nn.dense(float16[1,256], float16[16,256], units=16)",
                           "nn.dense(float16[1,252], float16[70,252], units=70)",
                           "nn.dense(float32[1,256], float32[70,256], units=70)",
                           "nn.matmul(float16[1,256], float16[256,70], units=70)"}) {
    EXPECT_FALSE(sums_of(scheduled(run::function_of(text)))) << text;
  }
}

// Devices without the instruction have loops that anyone can run.
TEST(OlderDevices, HaveNoFragments) {
  const relay::Function f = run::function_of(
      "qnn.dense_fragments(float16[2,64], int32[1,1,128], bfloat16[1,1,16], "
      "float32[]=8, units=16, block_size=64)");
  Device device;
  device.multiplies_fragments = false;
  const tir::PrimFunc kernel = scheduled(f, device);
  EXPECT_FALSE(sums_of(kernel));
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  run::expect_close(run::evaluated(f, inputs), run::interpreted(kernel, inputs), "");
}

TEST(FewRowsText, IsTheGolden) {
  const std::pair<const char*, const char*> goldens[] = {
      {"few_rows",
       "qnn.dense_fragments(float16[1,4096], int32[896,64,128], bfloat16[896,32,16], float32[]=8, "
       "units=14336, block_size=128)"},
      {"few_rows_bias_gelu", kBias},
      {"few_rows_open", kOpenRows},
      {"few_rows_plain", "nn.dense(float16[16,4096], float16[1000,4096], units=1000)"}};
  for (const auto& [name, text] : goldens) {
    const tir::PrimFunc kernel = scheduled(run::function_of(text));
    EXPECT_TRUE(sums_of(kernel)) << name;
    testing::expect_golden(
        std::string(TESSERA_SOURCE_DIR "/src/schedule/testdata/device_") + name + ".tir",
        tir::print(kernel, name));
  }
}

}  // namespace
}  // namespace tessera::schedule
