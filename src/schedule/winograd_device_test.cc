// SPDX-License-Identifier: Apache-2.0
// Convolutions by Winograd's algorithm on devices: against the reference, in all forms in which
// they come, in the form that emitters know again, and how exact they are in 16 bits.
#include <cmath>
#include <tuple>

#include "lower/primitive.h"
#include "lower/testing/kernel_run.h"
#include "lower/testing/text.h"
#include "schedule/device.h"
#include "schedule/winograd_transform.h"
#include "support/f16.h"
#include "support/testing/golden.h"
#include "tir/block_product.h"
#include "tir/print.h"
#include "tir/verify.h"
#include "tir/verify_bounds.h"
#include "tir/verify_teams.h"

namespace tessera::schedule {
namespace {

namespace run = lower::testing;

Device device_with(int tile, bool has_fragments = true) { return {1 << 16, has_fragments, tile}; }

// The kernel of a function whose second input is a constant.
ScheduledKernel on_device(const relay::Function& f, const Device& device) {
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  TESSERA_CHECK(plain.has_value(), "{}", render(plain.error()));
  return schedule_device_kernel(*plain, device, {plain->inputs[1]});
}

std::string text_of(const ScheduledKernel& s) { return tir::print(s.kernel, "kernel"); }

// The inputs as the scheduled kernel takes them.
std::vector<Tensor> inputs_of(const ScheduledKernel& s, std::vector<Tensor> inputs) {
  const Tensor source = inputs[1];
  if (s.kernel.inputs.size() < inputs.size() + s.made.size()) inputs.erase(inputs.begin() + 1);
  for (const MadeConstant& m : s.made) inputs.push_back(*m.make(source));
  return inputs;
}

std::optional<tir::BlockProduct> product_of(const tir::PrimFunc& kernel) {
  std::optional<tir::BlockProduct> found;
  tir::Bounds bounds;
  tir::for_each_node(kernel.body, [&](const tir::Stmt& s) {
    const auto* loop = s.as<tir::For>();
    if (loop == nullptr) return;
    if (loop->loop == tir::ForKind::kBlocks) bounds.set_loop(loop->var, loop->min, loop->extent);
    if (auto product = tir::as_block_product(*loop, bounds)) found = std::move(product);
  });
  return found;
}

struct DeviceForm {
  const char* text;
  bool has_fragments = true;
};
class DeviceWinogradForms : public ::testing::TestWithParam<DeviceForm> {};

// By fragments, where they can be, and by tiles of float32.
TEST_P(DeviceWinogradForms, EqualsEvalAndStaysInside) {
  const auto [source, has_fragments] = GetParam();
  const relay::Function f = run::function_of(source);
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const bool is_narrow = inputs[1].dtype.bits == 16;
  for (const int tile : {2, 4}) {
    const ScheduledKernel s = on_device(f, device_with(tile, has_fragments));
    const std::string text = text_of(s);
    if (inputs[1].dtype == kBFloat16 && tile == 4) {
      EXPECT_EQ(text.find("winograd"), text.npos) << "not exact enough";
      continue;
    }
    EXPECT_NE(text.find(fmt::format("winograd {}x{}", tile, tile)), text.npos) << text;
    EXPECT_EQ(product_of(s.kernel).has_value(), is_narrow && has_fragments) << text;
    const auto valid = tir::verify(s.kernel, "kernel");
    ASSERT_TRUE(valid.has_value()) << render(valid.error()) << text;
    EXPECT_TRUE(tir::verify_teams(s.kernel).empty()) << text;
    EXPECT_EQ(tir::unproven_accesses(s.kernel), std::vector<std::string>{}) << text;
    EXPECT_EQ(text.find("padded"), text.npos) << "the border is not written\n" << text;
    const auto given = inputs_of(s, inputs);
    ASSERT_EQ(given.size(), s.kernel.inputs.size());
    const auto expected = run::evaluated(f, inputs), found = run::interpreted(s.kernel, given);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LE(ops::relative_difference(found[i], expected[i]),
                ops::operator_tolerance(expected[i].dtype))
          << text;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceWinogradForms,
    ::testing::Values(
        DeviceForm{"nn.conv2d(float16[1,16,8,8], float16[32,16,3,3], padding=[1,1,1,1])"},
        // Sizes that no tile divides, images of which there are several, odd channels.
        DeviceForm{"nn.conv2d(float16[2,18,7,13], float16[17,18,3,3], padding=[1,1,1,1])"},
        DeviceForm{"nn.conv2d(float16[1,16,9,11], float16[32,16,3,3], padding=[0,2,1,0])"},
        DeviceForm{"nn.conv2d(float16[2,18,7,13], float16[17,18,3,3])", false},
        DeviceForm{"nn.conv2d(float32[1,20,9,17], float32[18,20,3,3], padding=[1,1,1,1])"},
        DeviceForm{"nn.conv2d(bfloat16[1,24,8,8], bfloat16[16,24,3,3], padding=[1,1,1,1])"},
        // Channels last, and such as no vectors of them fill.
        DeviceForm{"nn.conv2d(float16[1,7,16,16], float16[3,3,16,32], padding=[1,1,1,1], "
                   "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        DeviceForm{"nn.conv2d(float16[2,9,10,19], float16[3,3,19,21], padding=[1,1,1,1], "
                   "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        DeviceForm{"nn.conv2d(float16[1,8,10,9], float16[3,3,9,17], padding=[1,1,1,1], "
                   "data_layout=\"NHWC\", kernel_layout=\"HWIO\")",
                   false},
        DeviceForm{"nn.conv2d(float32[1,8,10,9], float32[3,3,9,16], padding=[1,1,1,1], "
                   "data_layout=\"NHWC\", kernel_layout=\"HWIO\")"},
        DeviceForm{
            "def @main(%x: Tensor[(1, 16, 10, 10), float16], %w: Tensor[(20, 16, 3, 3), float16],"
            " %b: Tensor[(20, 1, 1), float16], %r: Tensor[(1, 20, 10, 10), float16]) {\n"
            "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);\n  %1 = add(%0, %b);\n"
            "  %2 = add(%1, %r);\n  nn.relu(%2)\n}\n"},
        DeviceForm{
            "def @main(%x: Tensor[(1, 18, 18, 16), float16], %w: Tensor[(3, 3, 16, 24), float16],"
            " %b: Tensor[(24), float16], %r: Tensor[(1, 18, 18, 24), float16]) {\n"
            "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout=\"NHWC\","
            " kernel_layout=\"HWIO\");\n  %1 = add(add(%0, %b), %r);\n"
            "  multiply(%1, sigmoid(%1))\n}\n"}),
    [](const auto& info) { return fmt::format("{}", info.index); });

// An image that others read, too, gets its border as ever.
TEST(DeviceWinogradBorder, IsWrittenWhereOthersReadIt) {
  const relay::Function f = run::function_of(
      "def @main(%x: Tensor[(1, 16, 16, 16), float16], %w: Tensor[(32, 16, 3, 3), float16]) {\n"
      "  %0 = nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]]);\n"
      "  %1 = nn.conv2d(%0, %w);\n  (%0, %1)\n}\n");
  const ScheduledKernel s = on_device(f, device_with(2));
  EXPECT_NE(text_of(s).find("winograd"), std::string::npos);
  const std::vector<Tensor> inputs = run::inputs_of(f, 7);
  const auto expected = run::evaluated(f, inputs);
  const auto found = run::interpreted(s.kernel, inputs_of(s, inputs));
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_LE(ops::relative_difference(found[i], expected[i]), ops::operator_tolerance(kFloat16));
  }
}

// As lower::hoist_allocations leaves it for emitters: scratch memory is an output.
tir::PrimFunc with_given_memory(tir::PrimFunc f) {
  Kernel parts = take_apart(f.body);
  f.outputs.insert(f.outputs.end(), parts.temporaries.begin(), parts.temporaries.end());
  parts.temporaries.clear();
  f.body = put_together(parts);
  return f;
}

TEST(DeviceWinogradText, IsTheGolden) {
  const std::pair<const char*, int> goldens[] = {{"winograd", 2}, {"winograd_channels_last", 4}};
  const char* const texts[] = {
      "def @main(%x: Tensor[(1, 64, 56, 56), float16], %w: Tensor[(64, 64, 3, 3), float16],"
      " %b: Tensor[(64, 1, 1), float16]) {\n"
      "  %0 = nn.conv2d(%x, %w, padding=[1, 1, 1, 1]);\n  nn.relu(add(%0, %b))\n}\n",
      "nn.conv2d(float16[8,13,14,256], float16[3,3,256,256], data_layout=\"NHWC\", "
      "kernel_layout=\"HWIO\")"};
  for (std::size_t i = 0; i < std::size(texts); ++i) {
    const auto& [name, tile] = goldens[i];
    const auto kernel = on_device(run::function_of(texts[i]), device_with(tile)).kernel;
    testing::expect_golden(
        fmt::format("{}/src/schedule/testdata/device_{}.tir", TESSERA_SOURCE_DIR, name),
        tir::print(with_given_memory(kernel), name));
  }
}

// What it does not compute, it leaves to others.
TEST(DeviceWinogradRules, LeaveOtherConvolutions) {
  for (const char* text : {"nn.conv2d(float16[1,16,9,9], float16[32,16,3,3], strides=[2,2])",
                           "nn.conv2d(float16[1,16,9,9], float16[32,16,3,3], dilation=[2,2])",
                           "nn.conv2d(float16[1,16,9,9], float16[32,8,3,3], groups=2)",
                           "nn.conv2d(float16[1,16,9,9], float16[16,1,3,3], groups=16)",
                           "nn.conv2d(bfloat16[1,16,9,9], bfloat16[16,16,3,3])",
                           "nn.conv2d(float32[1,513,9,9], float32[32,513,3,3])",
                           "nn.conv2d(float16[1,16,9,9], float16[32,16,5,5])",
                           "nn.conv2d(float64[1,16,9,9], float64[32,16,3,3])"}) {
    EXPECT_EQ(text_of(on_device(run::function_of(text), device_with(4))).find("winograd"),
              std::string::npos)
        << text;
  }
  const auto open = run::function_of(
      "def @main(%x: Tensor[(1, 16, ?h, 9), float16], %w: Tensor[(32, 16, 3, 3), float16]) {\n"
      "  nn.conv2d(%x, %w, padding=[1, 1, 1, 1], channels=32, kernel_size=[3, 3])\n}\n");
  EXPECT_EQ(text_of(on_device(open, device_with(2))).find("winograd"), std::string::npos);
  const auto f = run::function_of("nn.conv2d(float16[1,16,9,9], float16[32,16,3,3])");
  const auto plain = lower::lower_primitive(f, relay::Function::kBody, {});
  EXPECT_EQ(tir::print(schedule_device_kernel(*plain, device_with(2)), "k").find("winograd"),
            std::string::npos)
      << "the weight is no constant";
}

TEST(DeviceWinogradRules, ChooseItWhereItIsClearlyFaster) {
  const auto chosen = [](const char* text, const Device& device = {}) {
    const std::string all = text_of(on_device(run::function_of(text), device));
    const std::size_t at = all.find("winograd");
    return at == all.npos ? "" : all.substr(at, std::string_view("winograd 2x2").size());
  };
  const char* large = "nn.conv2d(float16[1,64,56,56], float16[64,64,3,3], padding=[1,1,1,1])";
  EXPECT_EQ(chosen(large), "winograd 2x2");
  EXPECT_EQ(chosen(large, device_with(4)), "winograd 4x4");
  EXPECT_EQ(chosen("nn.conv2d(float16[1,512,7,7], float16[512,512,3,3], padding=[1,1,1,1])"),
            "winograd 2x2")
      << "blocks of a direct sum are too few";
  EXPECT_EQ(chosen(large, device_with(0)), "");
  EXPECT_EQ(chosen("nn.conv2d(float32[1,256,28,28], float32[256,256,3,3], padding=[1,1,1,1])"),
            "winograd 4x4");
  for (const char* small :
       {"nn.conv2d(float16[1,3,224,224], float16[64,3,3,3], padding=[1,1,1,1])",
        "nn.conv2d(float16[1,16,8,8], float16[16,16,3,3], padding=[1,1,1,1])",
        "nn.conv2d(float16[64,64,512,512], float16[64,64,3,3], padding=[1,1,1,1])"}) {
    EXPECT_EQ(chosen(small), "") << small;
  }
}

// ---- Exactness ----------------------------------------------------------------------------------

float rounded(double x, DType dtype) {
  return dtype == kFloat16    ? float16_value(float16_bits(x))
         : dtype == kBFloat16 ? bfloat16_value(bfloat16_bits(x))
                              : static_cast<float>(x);
}

struct EvenTileError {
  double error = 0, largest = 0;  // absolute, and of the results
};

// One result tile after the other with operands as the kernels have them, against float64.
EvenTileError even_error_of(const WinogradTransform& t, DType dtype, std::int64_t channels,
                            std::uint64_t seed) {
  const auto next = [&] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return rounded(static_cast<double>(seed >> 40) / (1 << 23) - 1, dtype);
  };
  const auto a = static_cast<std::size_t>(t.window), m = static_cast<std::size_t>(t.tile);
  const auto row = [](auto values, std::size_t k) { return static_cast<float>(values[k]); };
  std::vector<float> sums(a * a), d(a * a), half(a * a);
  std::vector<double> exact(m * m);
  for (std::int64_t c = 0; c < channels; ++c) {
    std::vector<double> g(9);
    for (double& x : g) x = static_cast<double>(next());
    for (float& x : d) x = next();
    const WinogradWeight form{{1, 1}, dtype, [](auto, auto) { return 0; }};
    const auto u = *winograd_weight(tensor_from_doubles({1, 1, 3, 3}, dtype, g),
                                    {0, {1, 9}, {1, 9}, {3, 3}, {3, 1}}, t, form);
    for (std::size_t i = 0; i < m * m * 9; ++i) {
      const std::size_t at = i / 9, k = i % 9;
      exact[at] += g[k] * double(d[(at / m + k / 3) * a + at % m + k % 3]);
    }
    for (std::size_t i = 0; i < a * a; ++i) {
      half[i] = 0;
      for (std::size_t k = 0; k < a; ++k) {
        half[i] += row(t.data_row(std::int64_t(i / a)), k) * d[k * a + i % a];
      }
    }
    for (std::size_t i = 0; i < a * a; ++i) {
      float v = 0;
      for (std::size_t k = 0; k < a; ++k) {
        v += half[i / a * a + k] * row(t.data_row(std::int64_t(i % a)), k);
      }
      EXPECT_LE(std::abs(v), 1) << "tiles stay in the range of their elements";
      sums[i] += rounded(double(v), dtype) * float(element_as_double(u, std::int64_t(i)));
    }
  }
  EvenTileError out;
  for (std::size_t at = 0; at < m * m; ++at) {
    float y = 0;
    for (std::size_t i = 0; i < a * a; ++i) {
      y += row(t.result_row(std::int64_t(at / m)), i / a) * sums[i] *
           row(t.result_row(std::int64_t(at % m)), i % a);
    }
    out.largest = std::max(out.largest, std::abs(exact[at]));
    out.error = std::max(out.error, std::abs(double(y) - exact[at]));
  }
  return out;
}

// The figures that docs/loop-ir.md states, of two hundred tiles, relative to the largest result,
// before it is rounded to 16 bits.
TEST(DeviceWinogradErrors, StayWithinTheTolerance) {
  const std::tuple<DType, std::int64_t, std::int64_t, double> stated[] = {
      {kFloat16, 2, 64, 7e-4},  {kFloat16, 2, 512, 7e-4}, {kFloat16, 4, 64, 3e-3},
      {kFloat16, 4, 512, 3e-3}, {kBFloat16, 2, 64, 5e-3}, {kBFloat16, 2, 512, 5e-3},
      {kFloat32, 2, 512, 2e-6}, {kFloat32, 4, 512, 1e-5}};
  for (const auto& [dtype, tile, channels, limit] : stated) {
    EvenTileError all;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const EvenTileError one = even_error_of(even_winograd_transform(tile), dtype, channels, seed);
      all = {std::max(all.error, one.error), std::max(all.largest, one.largest)};
    }
    const double worst = all.error / all.largest;
    std::printf("%s, tiles of %d, %d channels: %.1e\n", to_string(dtype).c_str(), int(tile),
                int(channels), worst);
    EXPECT_LT(worst, limit) << to_string(dtype) << " " << tile << " " << channels;
    EXPECT_LE(limit, ops::operator_tolerance(dtype));
  }
}

TEST(DeviceWinogradErrors, WeightsBeyondTheRangeAreRefused) {
  const WeightPlaces places{0, {1, 9}, {1, 9}, {3, 3}, {3, 1}};
  const WinogradWeight form{{1, 1}, kFloat16, [](auto, auto) { return 0; }};
  const auto made = [&](double each) {
    const Tensor g = tensor_from_doubles({1, 1, 3, 3}, kFloat16, std::vector<double>(9, each));
    return winograd_weight(g, places, even_winograd_transform(2), form).has_value();
  };
  EXPECT_TRUE(made(7000));
  EXPECT_FALSE(made(8000));  // nine of them, and more than float16 has
  EXPECT_FALSE(made(INFINITY));
  EXPECT_FALSE(made(NAN));
}

}  // namespace
}  // namespace tessera::schedule
