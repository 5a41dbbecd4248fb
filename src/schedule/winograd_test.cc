// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's algorithm: against the reference, in all forms in which they come, and
// how exact they are.
#include <cmath>
#include <tuple>

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/schedule.h"
#include "schedule/winograd_transform.h"
#include "support/testing/golden.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

Machine with_tile(int tile) { return {64, 32, 128 << 10, 25000, tile}; }

// The kernel of a function whose input `weight` is a constant.
ScheduledKernel scheduled(const relay::Function& f, const Machine& machine, std::size_t weight) {
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_kernel(*plain, machine, {plain->inputs[weight]});
}

// The inputs as the scheduled kernel takes them.
std::vector<Tensor> inputs_of(const ScheduledKernel& s, std::vector<Tensor> inputs,
                              std::size_t weight) {
  const Tensor source = inputs[weight];
  if (s.kernel.inputs.size() < inputs.size() + s.made.size()) {
    inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(weight));
  }
  for (const MadeConstant& m : s.made) inputs.push_back(*m.make(source));
  return inputs;
}

struct Form {
  const char* text;
  std::size_t weight = 1;
};

class WinogradForms : public ::testing::TestWithParam<Form> {};

TEST_P(WinogradForms, EqualEvalAndStayInside) {
  const relay::Function f = run::function_of(GetParam().text);
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  for (const int tile : {2, 4}) {
    const ScheduledKernel s = scheduled(f, with_tile(tile), GetParam().weight);
    const std::string text = tir::print(s.kernel, "kernel");
    EXPECT_NE(text.find(fmt::format("winograd {}x{}", tile, tile)), text.npos) << text;
    const auto valid = tir::verify(s.kernel, "kernel");
    ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
    EXPECT_EQ(tir::unproven_accesses(s.kernel), std::vector<std::string>{}) << text;
    const auto given = inputs_of(s, inputs, GetParam().weight);
    ASSERT_EQ(given.size(), s.kernel.inputs.size());
    run::expect_close(run::evaluated(f, inputs), run::interpreted(s.kernel, given), text);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, WinogradForms,
    ::testing::Values(
        Form{"nn.conv2d(float32[1,16,8,8], float32[32,16,3,3], padding=[1,1,1,1])"},
        // Sizes that no tile divides, and images of which there are several.
        Form{"nn.conv2d(float32[2,16,7,13], float32[17,16,3,3], padding=[1,1,1,1])"},
        Form{"nn.conv2d(float32[1,16,9,11], float32[32,16,3,3])"},
        Form{"nn.conv2d(float32[1,16,8,9], float32[32,16,3,3], padding=[0,2,1,0])"},
        Form{"nn.conv2d(float32[1,7,9,16], float32[3,3,16,32], padding=[1,1,1,1], "
             "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        Form{"nn.conv2d(float32[1,3,17,10], float32[32,3,3,3], padding=[1,1,1,1])"},
        Form{"nn.conv2d(float32[1,16,9,9], float32[32,16,3,3], padding=[1,1,1,1], "
             "out_layout=\"NHWC\")"},
        Form{"def @main(%x: Tensor[(1, 16, 10, 10), float32], %w: Tensor[(20, 16, 3, 3), float32],"
             " %b: Tensor[(20, 1, 1), float32], %r: Tensor[(1, 20, 10, 10), float32]) {\n"
             "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);\n  %1 = add(%0, %b);\n"
             "  %2 = add(%1, %r);\n  nn.relu(%2)\n}\n"},
        Form{"def @main(%x: Tensor[(1, 16, 10, 10), float32], %w: Tensor[(20, 16, 3, 3), float32])"
             " {\n  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);\n  %1 = nn.relu(%0);\n"
             "  (%0, %1)\n}\n"}),
    [](const auto& info) { return fmt::format("{}", info.index); });

// The text of the loops, by Winograd's algorithm and directly.
TEST(Winograd, ScheduledText) {
  const relay::Function f =
      run::function_of("nn.conv2d(float32[1,64,57,56], float32[64,64,3,3], padding=[1,1,1,1])");
  const std::pair<const char*, int> goldens[] = {{"conv2d_winograd", 4}, {"conv2d_of_constant", 0}};
  for (const auto& [name, tile] : goldens) {
    testing::expect_golden(fmt::format("{}/src/schedule/testdata/{}.tir", TESSERA_SOURCE_DIR, name),
                           tir::print(scheduled(f, with_tile(tile), 1).kernel, name));
  }
}

// What it does not compute, it leaves to others.
TEST(Winograd, LeavesOtherConvolutions) {
  for (const char* text :
       {"nn.conv2d(float32[1,16,9,9], float32[32,16,3,3], strides=[2,2])",
        "nn.conv2d(float32[1,16,9,9], float32[32,16,3,3], dilation=[2,2])",
        "nn.conv2d(float32[1,16,9,9], float32[32,8,3,3], groups=2)",
        "nn.conv2d(float32[1,16,9,9], float32[16,1,3,3], groups=16)",
        "nn.conv2d(float32[1,513,9,9], float32[32,513,3,3])",  // not exact enough in tiles of 4
        "nn.conv2d(float32[1,16,9,9], float32[32,16,5,5])",
        "nn.conv2d(float32[1,16,9,9], float32[32,16,3,1])",
        "nn.conv2d(float64[1,16,9,9], float64[32,16,3,3])"}) {
    const ScheduledKernel s = scheduled(run::function_of(text), with_tile(4), 1);
    EXPECT_EQ(tir::print(s.kernel, "kernel").find("winograd"), std::string::npos) << text;
  }
  const auto f = run::function_of("nn.conv2d(float32[1,16,9,9], float32[32,16,3,3])");
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  const auto without = schedule_kernel(*plain, with_tile(4), {}).kernel;
  EXPECT_EQ(tir::print(without, "kernel").find("winograd"), std::string::npos)
      << "the weight is no constant";
}

// Large layers alone, unless it is asked for.
TEST(Winograd, IsChosenWhereItIsClearlyFaster) {
  const auto is_chosen = [](const char* text, int tile) {
    const ScheduledKernel s = scheduled(run::function_of(text), with_tile(tile), 1);
    return tir::print(s.kernel, "kernel").find("winograd") != std::string::npos;
  };
  const char* large = "nn.conv2d(float32[1,64,56,56], float32[64,64,3,3], padding=[1,1,1,1])";
  EXPECT_TRUE(is_chosen(large, Machine::kClearlyFaster));
  EXPECT_FALSE(is_chosen(large, 0));
  for (const char* small :
       {"nn.conv2d(float32[1,3,224,224], float32[64,3,3,3], padding=[1,1,1,1])",
        "nn.conv2d(float32[1,512,7,7], float32[512,512,3,3], padding=[1,1,1,1])",
        "nn.conv2d(float32[1,16,8,8], float32[16,16,3,3], padding=[1,1,1,1])"}) {
    EXPECT_FALSE(is_chosen(small, Machine::kClearlyFaster)) << small;
  }
}

// ---- Exactness ----------------------------------------------------------------------------------

struct TileError {
  double error = 0, largest = 0;  // absolute, and of the results
};

// One result tile after the other in float32, as the kernels compute it, against float64.
TileError error_of(const WinogradTransform& t, std::int64_t channels, std::uint64_t seed) {
  const auto next = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<double>(seed >> 40) / (1 << 23) - 1);
  };
  const auto a = static_cast<std::size_t>(t.window), m = static_cast<std::size_t>(t.tile);
  std::vector<float> sums(a * a), d(a * a), half(a * a);
  std::vector<double> exact(m * m);
  for (std::int64_t c = 0; c < channels; ++c) {
    std::vector<float> g(9);
    for (float& x : g) x = next();
    for (float& x : d) x = next();
    const auto u = *winograd_weight(Tensor::of({1, 1, 3, 3}, kFloat32, g),
                                    {0, {1, 9}, {1, 9}, {3, 3}, {3, 1}}, t, 1);
    for (std::size_t r = 0; r < m; ++r) {
      for (std::size_t s = 0; s < m; ++s) {
        for (std::size_t k = 0; k < 9; ++k) {
          exact[r * m + s] += double(g[k]) * double(d[(r + k / 3) * a + s + k % 3]);
        }
      }
    }
    for (std::size_t i = 0; i < a; ++i) {
      for (std::size_t x = 0; x < a; ++x) {
        half[i * a + x] = 0;
        for (std::size_t k = 0; k < a; ++k) {
          half[i * a + x] += float(t.data_row(std::int64_t(i))[k]) * d[k * a + x];
        }
      }
    }
    for (std::size_t i = 0; i < a * a; ++i) {
      float v = 0;
      for (std::size_t k = 0; k < a; ++k) {
        v += half[i / a * a + k] * float(t.data_row(std::int64_t(i % a))[k]);
      }
      sums[i] += v * u.as<float>()[i];
    }
  }
  TileError out;
  for (std::size_t r = 0; r < m; ++r) {
    for (std::size_t s = 0; s < m; ++s) {
      float y = 0;
      for (std::size_t j = 0; j < a; ++j) {
        float column = 0;
        for (std::size_t i = 0; i < a; ++i) {
          column += float(t.result_row(std::int64_t(r))[i]) * sums[i * a + j];
        }
        y += column * float(t.result_row(std::int64_t(s))[j]);
      }
      out.largest = std::max(out.largest, std::abs(exact[r * m + s]));
      out.error = std::max(out.error, std::abs(double(y) - exact[r * m + s]));
    }
  }
  return out;
}

// The figures that docs/loop-ir.md states, of a hundred tiles, relative to the largest result: all
// within what an operator of float32 may be off.
TEST(Winograd, ErrorsStayWithinTheToleranceOfFloat32) {
  const std::tuple<std::int64_t, std::int64_t, double> stated[] = {
      {2, 64, 1e-6}, {2, 512, 2e-6}, {2, 2048, 4e-6}, {4, 64, 8e-6}, {4, 512, 2e-5}};
  for (const auto& [tile, channels, limit] : stated) {
    TileError all;
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      const TileError one = error_of(winograd_transform(tile), channels, seed);
      all = {std::max(all.error, one.error), std::max(all.largest, one.largest)};
    }
    const double worst = all.error / all.largest;
    EXPECT_LT(worst, limit) << tile << " " << channels;
    EXPECT_LE(limit, ops::operator_tolerance(kFloat32));
  }
}

TEST(Winograd, WeightsThatMayOverflowAreRefused) {
  const WeightPlaces places{0, {1, 9}, {1, 9}, {3, 3}, {3, 1}};
  for (const float bad : {1e30F, INFINITY, NAN}) {
    const Tensor g = Tensor::of({1, 1, 3, 3}, kFloat32, std::vector<float>(9, bad));
    EXPECT_FALSE(winograd_weight(g, places, winograd_transform(4), 1));
  }
}

}  // namespace
}  // namespace tessera::schedule
