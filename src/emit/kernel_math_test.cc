// SPDX-License-Identifier: Apache-2.0
// Accuracy of the float32 functions that generated kernels call, against the C library in double.
#include "tessera/kernel_math.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "constants/float8.h"
#include "emit/kernel.h"
#include "support/f16.h"
#include "support/subprocess.h"

namespace tessera::emit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Distance in units in the last place of the wanted value.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : HUGE_VAL;
  const auto rounded = static_cast<float>(want);
  if (got == rounded) return 0;
  if (std::isinf(rounded) || !std::isfinite(got)) return HUGE_VAL;
  const double unit = std::nextafter(std::abs(rounded), kInfinity) - std::abs(double{rounded});
  return std::abs(got - want) / unit;
}

// The worst error over all floats a stride of bit patterns apart.
double worst(float (*fast)(float), double (*exact)(double)) {
  double worst = 0;
  constexpr std::uint32_t kStride = 4099;
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += kStride) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    worst = std::max(worst, ulps(fast(x), exact(x)));
  }
  return worst;
}

TEST(KernelMathTest, AllFloatsWithinTheirBound) {
  EXPECT_LT(worst([](float x) { return tk::exp(x); }, [](double x) { return std::exp(x); }), 1.5);
  EXPECT_LT(worst([](float x) { return tk::erf(x); }, [](double x) { return std::erf(x); }), 1.5);
  EXPECT_LT(worst([](float x) { return tk::tanh(x); }, [](double x) { return std::tanh(x); }), 1.7);
  EXPECT_LT(worst([](float x) { return tk::log(x); }, [](double x) { return std::log(x); }), 1.5);
  EXPECT_LT(worst([](float x) { return tk::sigmoid(x); },
                  [](double x) { return 1 / (1 + std::exp(-x)); }),
            2.5);
}

TEST(KernelMathTest, CodesOfFloat8AreThoseOfAllFloats) {
  constexpr std::uint32_t kStride = 4099;
  for (std::uint64_t bits = 0; bits <= 0xffffffffu; bits += kStride) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    ASSERT_EQ(tk::float8_e4m3_code(x), float8_code(kFloat8E4M3, x, true)) << x;
    ASSERT_EQ(tk::float8_e5m2_code(x), float8_code(kFloat8E5M2, x, true)) << x;
  }
  // Ties and what is beside them, where exponents and codes of numbers without them meet.
  for (int code = 0; code < 0x7e; ++code) {
    const double both = float8_value(kFloat8E4M3, code) + float8_value(kFloat8E4M3, code + 1);
    const auto middle = static_cast<float>(both / 2);
    for (const float x : {std::nextafter(middle, 0.0f), middle, std::nextafter(middle, 1e9f)}) {
      ASSERT_EQ(tk::float8_e4m3_code(-x), float8_code(kFloat8E4M3, -x, true)) << x;
    }
  }
}

TEST(KernelMathTest, SpecialValues) {
  EXPECT_EQ(tk::exp(kInfinity), kInfinity);
  EXPECT_EQ(tk::exp(-kInfinity), 0);
  EXPECT_EQ(tk::exp(0.0f), 1);
  EXPECT_EQ(tk::log(0.0f), -kInfinity);
  EXPECT_EQ(tk::log(kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(tk::log(-1.0f)));
  EXPECT_EQ(tk::tanh(-kInfinity), -1);
  EXPECT_TRUE(std::signbit(tk::tanh(-0.0f)));
  EXPECT_EQ(tk::erf(kInfinity), 1);
  EXPECT_TRUE(std::isnan(tk::erf(kNaN)) && std::isnan(tk::tanh(kNaN)) && std::isnan(tk::exp(kNaN)));
}

TEST(KernelMathTest, MinimumAndMaximumKeepNaN) {
  EXPECT_TRUE(std::isnan(tk::max(kNaN, 1.0f)) && std::isnan(tk::max(1.0f, kNaN)));
  EXPECT_TRUE(std::isnan(tk::min(kNaN, 1.0f)) && std::isnan(tk::min(1.0f, kNaN)));
  EXPECT_EQ(tk::max(-1, 2), 2);
}

TEST(KernelMathTest, DivisionRoundsDown) {
  for (int a = -9; a <= 9; ++a) {
    for (const int b : {-4, -1, 3, 7}) {
      EXPECT_EQ(tk::floor_div(a, b), static_cast<int>(std::floor(static_cast<double>(a) / b)));
      EXPECT_EQ(tk::floor_mod(a, b), a - b * tk::floor_div(a, b));
    }
  }
}

template <class T>
void expect_total_division() {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  for (const T a : {kMin, T(kMin + 1), T(0), T(1), T(7), kMax}) {
    EXPECT_EQ(tk::trunc_div<T>(a, 0), 0);
    EXPECT_EQ(tk::floor_div<T>(a, 0), 0);
    EXPECT_EQ(tk::floor_mod<T>(a, 0), 0);
    if (kMin == 0) continue;
    const T minus_one = static_cast<T>(-1), negative = static_cast<T>(-static_cast<__int128>(a));
    EXPECT_EQ(tk::trunc_div<T>(a, minus_one), negative);
    EXPECT_EQ(tk::floor_div<T>(a, minus_one), negative);
    EXPECT_EQ(tk::floor_mod<T>(a, minus_one), 0);
  }
  EXPECT_EQ(tk::trunc_div<T>(kMax, 3), T(kMax / 3));
  EXPECT_EQ(tk::trunc_div<T>(1, kMax), 0);
}

TEST(KernelMathTest, IntegerDivisionNeverTraps) {
  expect_total_division<std::int8_t>();
  expect_total_division<std::int16_t>();
  expect_total_division<std::int32_t>();
  expect_total_division<std::int64_t>();
  expect_total_division<std::uint8_t>();
  expect_total_division<std::uint32_t>();
  expect_total_division<std::uint64_t>();
}

template <class T>
void expect_powers() {
  constexpr T kMin = std::numeric_limits<T>::min(), kMax = std::numeric_limits<T>::max();
  for (const T x : {kMin, T(-3), T(-1), T(0), T(1), T(2), T(3), kMax}) {
    T product = 1;
    for (int n = 0; n < 100; ++n, product = static_cast<T>(uint64_t(product) * uint64_t(x))) {
      EXPECT_EQ(tk::int_pow<T>(x, T(n)), product) << int64_t(x) << " to the power of " << n;
    }
    if (kMin == 0) continue;
    for (const T n : {T(-1), T(-2), T(-3), kMin}) {
      const T inverse = x == 1 ? T(1) : x == T(-1) ? T(n % 2 == 0 ? 1 : -1) : T(0);
      EXPECT_EQ(tk::int_pow<T>(x, n), inverse) << int64_t(x) << " to the power of " << int64_t(n);
    }
  }
}

// The reference for each is a product that wraps.
TEST(KernelMathTest, IntegerPowersOfEveryWidth) {
  expect_powers<std::int8_t>();
  expect_powers<std::int16_t>();
  expect_powers<std::int32_t>();
  expect_powers<std::int64_t>();
  expect_powers<std::uint8_t>();
  expect_powers<std::uint16_t>();
  expect_powers<std::uint32_t>();
  expect_powers<std::uint64_t>();
  EXPECT_EQ(tk::int_pow<std::uint64_t>(UINT64_MAX, UINT64_MAX), UINT64_MAX);  // -1, odd
  EXPECT_EQ(tk::int_pow<std::int64_t>(-1, INT64_MAX), -1);
}

TEST(KernelMathTest, Bfloat16RoundsAsOurConstantsDo) {
  for (const float x : {0.0f, -0.0f, 1.0f, 1.00390625f, 1.01171875f, 3.4e38f, 1e-40f, kInfinity}) {
    EXPECT_EQ(tk::bfloat16(x).bits, bfloat16_bits(x)) << x;
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(tk::bfloat16(kNaN))));
}

// g++ has a struct for it, clang a type that no function takes.
std::uint16_t code_of(float value) {
  const auto x = tk::float16(value);
  std::uint16_t code = 0;
  std::memcpy(&code, &x, sizeof code);
  return code;
}
float of_code(std::uint16_t code) {
  tk::float16 x;
  std::memcpy(static_cast<void*>(&x), &code, sizeof code);
  return static_cast<float>(x);
}

TEST(KernelMathTest, Float16RoundsAsOurConstantsDo) {
  for (std::uint32_t b = 0; b <= 0xffff; ++b) {
    const auto code = static_cast<std::uint16_t>(b);
    const float value = of_code(code);
    const float expected = float16_value(code);
    ASSERT_EQ(std::isnan(value), std::isnan(expected)) << b;
    if (std::isnan(value)) continue;
    ASSERT_EQ(std::bit_cast<std::uint32_t>(value), std::bit_cast<std::uint32_t>(expected)) << b;
    ASSERT_EQ(code_of(value), code);
  }
  constexpr std::uint32_t kStep = 4099;  // a prime: of each exponent some thousand numbers
  for (std::uint64_t u = 0; u <= UINT32_MAX; u += kStep) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(u));
    ASSERT_TRUE(std::isnan(x) || code_of(x) == float16_bits(x)) << x;
  }
  for (const float tie : {0x1.002p0f, 0x1.006p0f, 0x1p-25f, 0x1.8p-24f, 65519.996f, 65520.0f}) {
    EXPECT_EQ(code_of(tie), float16_bits(tie)) << tie;
    EXPECT_EQ(code_of(-tie), float16_bits(-tie)) << tie;
  }
  EXPECT_TRUE(std::isnan(static_cast<float>(tk::float16(kNaN))));
}

// Element by element, a kernel that rounds takes ten times as long.
class LoopsOf16Bits : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Types, LoopsOf16Bits, ::testing::Values("bfloat16", "float16"),
                         [](const auto& info) { return std::string(info.param); });

TEST_P(LoopsOf16Bits, BecomeVectors) {
  const std::string type = std::string("tk::") + GetParam();
  const std::string path = ::testing::TempDir() + "loops_of_" + GetParam() + ".cc";
  std::ofstream(path) << "#include \"tessera/kernel_math.h\"\n"
                         "void rounds("
                      << type << "* __restrict y, const " << type
                      << "* __restrict x) {\n"
                         "#pragma omp simd\n"
                         "  for (int i = 0; i < 4096; ++i) y[i] = "
                      << type << "(tk::exp(float(x[i]) * 2));\n}\n";
  std::vector<std::string> command = {"g++"};
  command.insert(command.end(), std::begin(kKernelFlags), std::end(kKernelFlags));
  command.insert(command.end(), std::begin(kKernelFlagsOfGcc), std::end(kKernelFlagsOfGcc));
  command.insert(command.end(), {"-fopt-info-vec-optimized", "-I", TESSERA_SOURCE_DIR "/include",
                                 "-S", "-o", "/dev/null", path});
  const auto ran = run_process(command);
  if (!ran) GTEST_SKIP() << "there is no g++ here";
  EXPECT_TRUE(ran->ok()) << ran->err;
  EXPECT_NE(ran->err.find("loop vectorized"), std::string::npos) << ran->err;
}

}  // namespace
}  // namespace tessera::emit
