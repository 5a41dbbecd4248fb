// SPDX-License-Identifier: Apache-2.0
// Products of floats of eight bits on the stand-in of cublasLt, which has the real one's demands.
#include <gtest/gtest.h>

#include "backends/cublas/graph_tests/graphs.h"

namespace tessera::backends::cublas {
namespace {

using testing::Case;
using testing::payload_of;
using testing::refusal_of;

const std::string kNumbers = "%x: Tensor[(5, 32), float32], %c_w: Tensor[(48, 32), float32]";
const std::string kCodes =
    "%0 = qnn.quantize_float8(%x, 0.01f);\n  %1 = qnn.quantize_float8(%c_w, 0.01f);\n  ";

std::string product(const std::string& data_scale, const std::string& weight_scale,
                    const std::string& attributes = "") {
  return fmt::format("qnn.dense_float8(%0, %1, {}, {}{})", data_scale, weight_scale, attributes);
}
std::string half(const std::string& x) { return fmt::format("cast({}, dtype=\"float16\")", x); }

const std::vector<Case>& float8_cases() {
  static const std::vector<Case> all = {
      {"two constants", kNumbers, kCodes + product("0.01f", "0.01f"), "float8_product", 2e-5},
      {"a number that is known when it runs", kNumbers + ", %s: float32",
       kCodes + half(product("%s", "0.01f")), "float8_product"},
      {"numbers of both", kNumbers + ", %s: float32, %t: Tensor[(1), float32]",
       kCodes + half(product("%s", "%t")), "float8_product"},
      {"scales of columns", kNumbers + ", %c_t: Tensor[(48), float32]",
       kCodes + half(product("0.01f", "%c_t")), "float8_product"},
      {"scales of rows", kNumbers + ", %s: Tensor[(5, 1), float32]",
       kCodes + half(product("%s", "0.01f")), "float8_product"},
      {"scales of rows and columns, a bias and a residual",
       kNumbers + ", %s: Tensor[(5, 1), float32], %c_t: Tensor[(48), float32], %c_b: Tensor[(48), "
                  "float16], %r: Tensor[(5, 48), float16]",
       kCodes + "add(%r, add(" + half(product("%s", "%c_t")) + ", %c_b))",
       "float8_product_add_add"},
      {"one row",
       "%x: Tensor[(1, 32), float32], %c_w: Tensor[(48, 32), float32], %s: Tensor[(1, 1), "
       "float32], %c_t: Tensor[(48), float32]",
       kCodes + half(product("%s", "%c_t")), "float8_product"},
      {"rows of a batch",
       "%x: Tensor[(2, 3, 32), float32], %c_w: Tensor[(48, 32), float32], %s: "
       "Tensor[(2, 3, 1), float32]",
       kCodes + half(product("%s", "0.01f")), "float8_product"},
      {"e5m2 by e4m3, in bfloat16, with ReLU", kNumbers + ", %b: Tensor[(48), bfloat16]",
       "%0 = qnn.quantize_float8(%x, 0.01f, format=\"e5m2\");\n  "
       "%1 = qnn.quantize_float8(%c_w, 0.01f);\n  nn.relu(add(cast(" +
           product("0.01f", "0.01f", ", data_format=\"e5m2\"") + ", dtype=\"bfloat16\"), %b))",
       "float8_product_add_activation", 3e-2},
      {"e4m3 by e5m2, a residual in float32", kNumbers + ", %r: Tensor[(5, 48), float32]",
       "%0 = qnn.quantize_float8(%x, 0.01f);\n  "
       "%1 = qnn.quantize_float8(%c_w, 0.01f, format=\"e5m2\");\n  add(" +
           product("0.01f", "0.01f", ", weight_format=\"e5m2\"") + ", %r)",
       "float8_product_add", 2e-5},
      {"a scale after it, and GELU by tanh", kNumbers + ", %b: Tensor[(48), float16]",
       kCodes + "nn.gelu_tanh(add(multiply(" + half(product("0.01f", "0.01f")) + ", 0.5f16), %b))",
       "float8_product_scale_add_activation"},
  };
  return all;
}

TEST(CublasFloat8, ComputesWhatTheGraphDoes) {
  for (const Case& c : float8_cases()) testing::expect_taken(c);
}

TEST(CublasFloat8, RefusesWithASentence) {
  const auto codes = [](int m, int n, int k) {
    return fmt::format(
        "%x: Tensor[({0}, {2}), uint8], %w: Tensor[({1}, {2}), uint8], %s: float32, "
        "%t: Tensor[({1}), float32], %r: Tensor[(2, 1), float32]",
        m, n, k);
  };
  const auto dense = [](const std::string& scales, const std::string& attributes = "") {
    return "qnn.dense_float8(%x, %w, " + scales + attributes + ")";
  };
  EXPECT_EQ(refusal_of(codes(4, 16, 24), dense("%s, %s")),
            "a product of floats of eight bits needs K that is a multiple of 16, not 24");
  EXPECT_EQ(refusal_of(codes(4, 6, 16), dense("%s, %s")),
            "a product of floats of eight bits that gives float32 needs N that is a multiple of 4, "
            "not 6");
  EXPECT_EQ(refusal_of(codes(4, 12, 16), "cast(" + dense("%s, %s") + ", dtype=\"float16\")"),
            "a product of floats of eight bits that gives float16 needs N that is a multiple of 8, "
            "not 12");
  EXPECT_EQ(refusal_of(codes(4, 12, 16), dense("%s, %s")), "taken");
  EXPECT_EQ(refusal_of(codes(4, 16, 16), dense("%s, %s",
                                               ", data_format=\"e5m2\", "
                                               "weight_format=\"e5m2\"")),
            "the library has no product of e5m2 by e5m2");
  EXPECT_EQ(refusal_of(codes(4, 16, 16), dense("%s, %t")),
            "one number that is known when it runs is a scale beside those of rows or columns: the "
            "library has one number or a vector for both factors");
  EXPECT_EQ(refusal_of("%x: Tensor[(3, 2, 16), uint8], %w: Tensor[(16, 16), uint8], %r: Tensor[(2, "
                       "1), float32]",
                       dense("%r, 1f")),
            "scales of rows are broadcast to them");
  EXPECT_EQ(refusal_of(codes(4, 16, 16) + ", %b: Tensor[(16), float32]",
                       "add(" + dense("%s, %s") + ", %b)"),
            "a product of floats of eight bits that gives float32 takes no bias of float32");
  EXPECT_EQ(refusal_of(codes(4, 16, 16), "nn.gelu_tanh(cast(cast(" + dense("%s, %s") +
                                             ", dtype=\"int32\"), dtype=\"float16\"))"),
            "the type changes after the product was rounded");
  EXPECT_EQ(refusal_of(codes(4, 16, 16), dense("%s, %s"), Target("cublas").with("arch", "sm_100a")),
            "floats of eight bits are multiplied by devices of sm_90 alone, not sm_100a");
  EXPECT_EQ(refusal_of(codes(4, 16, 16), dense("%s, %s")), "taken");
}

TEST(CublasFloat8, OtherDevicesAreGivenNone) {
  EXPECT_TRUE(cublas_backend().capabilities(Target("cublas")).float8_products);
  EXPECT_FALSE(
      cublas_backend().capabilities(Target("cublas").with("arch", "sm_80")).float8_products);
}

TEST(CublasFloat8, PayloadsSayScalesAndSums) {
  const std::string parameters = kNumbers + ", %c_t: Tensor[(48), float32]";
  const std::string fast = payload_of(parameters, kCodes + half(product("0.25f", "%c_t")));
  EXPECT_TRUE(fast.starts_with(
      "a_type=e4m3fn b_type=e4m3fn result=float16 sums=fast_float8 activation=none scales=vectors "
      "a=0 b=1 bias=-1 residual=-1 a_scale=-1 b_scale=2 "))
      << fast;
  EXPECT_TRUE(fast.ends_with(" alpha=0x1p-2")) << fast;
  const std::string exact = payload_of(parameters, kCodes + half(product("0.5f", "0.5f")),
                                       Target("cublas").with("fast_float8_sums", false));
  EXPECT_NE(exact.find(" sums=float32 activation=none scales=none "), std::string::npos) << exact;
  EXPECT_TRUE(exact.ends_with(" alpha=0x1p-2")) << exact;
}

}  // namespace
}  // namespace tessera::backends::cublas
