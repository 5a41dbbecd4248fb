// SPDX-License-Identifier: Apache-2.0
// Products on a stand-in of cublasLt that computes in the host's memory: what is taken computes
// what the graph does, what is not has a sentence.
#include "backends/cublas/cublas.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "backends/cublas/graph_tests/graphs.h"

namespace tessera::backends::cublas {
namespace {

using testing::Case;
using testing::payload_of;
using testing::refusal_of;

std::string gelu_of(const std::string& x, const std::string& half = "0.5f16") {
  return fmt::format(
      "%1 = multiply(multiply({0}, {0}), {0});\n"
      "  %2 = add({0}, multiply(%1, 0.044715f16));\n"
      "  %3 = add(tanh(multiply(%2, 0.797885f16)), 1f16);\n"
      "  multiply(multiply({0}, {1}), %3)",
      x, half);
}

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"dense", "%x: Tensor[(5, 16), float32], %w: Tensor[(24, 16), float32]",
       "nn.dense(%x, %w, units=24)", "product", 2e-5},
      {"a constant weight", "%x: Tensor[(5, 16), float16], %c_w: Tensor[(16, 24), float16]",
       "nn.matmul(%x, %c_w, units=None)", "product"},
      {"both transposed", "%x: Tensor[(16, 5), bfloat16], %w: Tensor[(24, 16), bfloat16]",
       "nn.matmul(%x, %w, units=None, transpose_a=True, transpose_b=True)", "product", 3e-2},
      {"odd sizes", "%x: Tensor[(3, 7), float16], %w: Tensor[(1, 7), float16]",
       "nn.dense(%x, %w, units=1)", "product"},
      {"rows of a batch", "%x: Tensor[(2, 3, 5, 16), float16], %c_w: Tensor[(16, 8), float16]",
       "nn.matmul(%x, %c_w, units=None)", "product"},
      {"batches", "%x: Tensor[(3, 5, 16), float16], %y: Tensor[(3, 8, 16), float16]",
       "nn.batch_matmul(%x, %y, transpose_b=True)", "product"},
      {"batches of heads with a scale",
       "%x: Tensor[(2, 3, 5, 16), float16], %y: Tensor[(2, 3, 8, 16), float16]",
       "divide(nn.matmul(%x, %y, units=None, transpose_b=True), 4f16)", "product_scale"},
      {"one left factor for all",
       "%x: Tensor[(1, 5, 16), float32], %y: Tensor[(3, 16, 8), float32]",
       "nn.batch_matmul(%x, %y)", "product", 2e-5},
      {"one right factor for transposed ones",
       "%x: Tensor[(3, 16, 5), float32], %y: Tensor[(1, 16, 8), float32]",
       "nn.batch_matmul(%x, %y, transpose_a=True)", "product", 2e-5},
      {"a bias",
       "%x: Tensor[(5, 16), float16], %c_w: Tensor[(24, 16), float16], %c_b: Tensor[(24), float16]",
       "add(nn.dense(%x, %c_w, units=24), %c_b)", "product_add"},
      {"a bias of a batch",
       "%x: Tensor[(3, 5, 16), float16], %y: Tensor[(3, 16, 8), float16], %b: Tensor[(1, 8), "
       "float16]",
       "add(nn.batch_matmul(%x, %y), %b)", "product_add"},
      {"bias_add and ReLU",
       "%x: Tensor[(5, 16), float32], %c_w: Tensor[(24, 16), float32], %c_b: Tensor[(24), float32]",
       "nn.relu(nn.bias_add(nn.dense(%x, %c_w, units=24), %c_b))", "product_add_activation", 2e-5},
      {"a residual on the left",
       "%x: Tensor[(5, 16), float16], %c_w: Tensor[(24, 16), float16], %r: Tensor[(5, 24), "
       "float16]",
       "add(%r, nn.dense(%x, %c_w, units=24))", "product_add"},
      {"scale, residual, bias and ReLU",
       "%x: Tensor[(5, 16), float16], %c_w: Tensor[(24, 16), float16], %r: Tensor[(5, 24), "
       "float16], %b: "
       "Tensor[(24), float16]",
       "nn.relu(add(add(multiply(nn.dense(%x, %c_w, units=24), 0.5f16), %r), %b))",
       "product_scale_add_add_activation"},
      {"a bias and GELU by tanh",
       "%x: Tensor[(5, 16), float16], %c_w: Tensor[(24, 16), float16], %b: Tensor[(24), float16]",
       "%0 = add(nn.dense(%x, %c_w, units=24), %b);\n  " + gelu_of("%0"), "product_add_activation"},
      {"a convolution of 1 x 1, with bias and ReLU",
       "%x: Tensor[(2, 3, 5, 16), float16], %c_w: Tensor[(24, 1, 1, 16), float16], %c_b: "
       "Tensor[(24), float16]",
       "nn.relu(add(nn.conv2d(%x, %c_w, kernel_size=[1, 1], channels=24, data_layout=\"NHWC\", "
       "kernel_layout=\"OHWI\", padding=[0, 0, 0, 0]), %c_b))",
       "product_add_activation"},
      {"a convolution of 1 x 1 in HWIO",
       "%x: Tensor[(2, 3, 5, 16), float32], %c_w: Tensor[(1, 1, 16, 24), float32]",
       "nn.conv2d(%x, %c_w, kernel_size=[1, 1], channels=24, data_layout=\"NHWC\", "
       "kernel_layout=\"HWIO\")",
       "product", 2e-5},
      {"integers", "%x: Tensor[(5, 16), int8], %w: Tensor[(24, 16), int8]",
       "nn.dense(%x, %w, units=24, out_dtype=\"int32\")", "product", 0},
      {"a wider result", "%x: Tensor[(5, 16), float16], %w: Tensor[(24, 16), float16]",
       "nn.dense(%x, %w, units=24, out_dtype=\"float32\")", "product", 1e-3},
      {"a cast of what is scaled", "%x: Tensor[(5, 16), float16], %w: Tensor[(24, 16), float16]",
       "cast(multiply(nn.dense(%x, %w, units=24), 0.5f16), dtype=\"float32\")",
       "product_scale_cast", 4e-3},
  };
  return all;
}

TEST(Cublas, ComputesWhatTheGraphDoes) {
  for (const Case& c : cases()) testing::expect_taken(c);
}

TEST(Cublas, RefusesWithASentence) {
  const std::string two = "%x: Tensor[(5, 16), float16], %w: Tensor[(24, 16), float16]";
  const std::string dense = "nn.dense(%x, %w, units=24)";
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 8), float64], %w: Tensor[(8, 8), float64]",
                       "nn.dense(%x, %w, units=8)"),
            "there is no product of float64 that gives float64");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 6), int8], %w: Tensor[(8, 6), int8]",
                       "nn.dense(%x, %w, units=8, out_dtype=\"int32\")"),
            "a product of int8 needs K that is a multiple of 4, not 6");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 8), int8], %w: Tensor[(8, 8), int8]",
                       "nn.matmul(%x, %w, units=None, out_dtype=\"int32\")"),
            "a product of int8 needs factors that lie along K");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, 8), int8], %w: Tensor[(8, 8), int8]",
                       "nn.relu(nn.dense(%x, %w, units=8, out_dtype=\"int32\"))"),
            "after a product of int8 the library computes nothing else");
  EXPECT_EQ(refusal_of("%x: Tensor[(2, 1, 4, 8), float16], %y: Tensor[(1, 3, 8, 8), float16]",
                       "nn.matmul(%x, %y, units=None)"),
            "the batches are broadcast against each other");
  EXPECT_EQ(refusal_of("%x: Tensor[(4, ?), float16], %y: Tensor[(?, 8), float16]",
                       "nn.matmul(%x, %y, units=None)"),
            "a size is not known");
  EXPECT_EQ(refusal_of(two + ", %r: Tensor[(5, 1), float16]", "add(" + dense + ", %r)"),
            "what is added has the shape (5, 1), neither one value for each column nor the "
            "product's shape");
  EXPECT_EQ(refusal_of(two + ", %r: Tensor[(2, 5, 24), float16]", "add(" + dense + ", %r)"),
            "the product is broadcast");
  EXPECT_EQ(
      refusal_of(two + ", %b: Tensor[(5), float16]", "nn.bias_add(" + dense + ", %b, axis=0)"),
      "the bias is not one of columns");
}

TEST(Cublas, TakesNoConvolutionThatIsNoProduct) {
  const auto convolution = [](const std::string& weight, const std::string& attributes) {
    return refusal_of("%x: Tensor[(2, 8, 8, 16), float16], %w: Tensor[" + weight + ", float16]",
                      "nn.conv2d(%x, %w, channels=8, " + attributes + ")");
  };
  const std::string layouts = "data_layout=\"NHWC\", kernel_layout=\"OHWI\"";
  const std::string why =
      "a convolution with a window, groups, strides or padding is not a product of its image";
  EXPECT_EQ(convolution("(8, 1, 1, 16)", "kernel_size=[1, 1], " + layouts), "taken");
  EXPECT_EQ(convolution("(8, 3, 3, 16)", "kernel_size=[3, 3], " + layouts), why);
  EXPECT_EQ(convolution("(8, 1, 1, 16)", "kernel_size=[1, 1], strides=[2, 2], " + layouts), why);
  EXPECT_EQ(convolution("(8, 1, 1, 16)", "kernel_size=[1, 1], padding=[1, 1], " + layouts), why);
  EXPECT_EQ(convolution("(8, 1, 1, 4)", "kernel_size=[1, 1], groups=4, " + layouts), why);
  EXPECT_EQ(refusal_of("%x: Tensor[(2, 16, 8, 8), float16], %w: Tensor[(8, 16, 1, 1), float16]",
                       "nn.conv2d(%x, %w, channels=8, kernel_size=[1, 1])"),
            "a convolution in NCHW with a kernel in OIHW is not a product");
}

// The numbers of GELU are looked at, and so is the precision of its result.
TEST(Cublas, TakesNoGeluThatIsAnother) {
  const std::string two = "%x: Tensor[(5, 16), float16], %w: Tensor[(24, 16), float16]";
  const std::string dense = "%0 = nn.dense(%x, %w, units=24);\n  ";
  EXPECT_EQ(refusal_of(two, dense + gelu_of("%0")), "taken");
  EXPECT_EQ(refusal_of(two, dense + gelu_of("%0", "0.25f16")),
            "the numbers around the hyperbolic tangent are not those of GELU");
  EXPECT_EQ(refusal_of(two, dense + "nn.gelu_tanh(%0)"), "taken");
  std::string wide = gelu_of("%0");
  for (std::size_t at = 0; (at = wide.find("f16", at)) != std::string::npos;)
    wide.replace(at, 3, "f");
  const std::string floats = "%x: Tensor[(5, 16), float32], %w: Tensor[(24, 16), float32]";
  EXPECT_EQ(refusal_of(floats, dense + wide),
            "the library's GELU has fewer digits than float32: -tf32 allows that");
  EXPECT_EQ(refusal_of(floats, dense + wide, Target("cublas").with("tf32", true)), "taken");
}

// GELU by erf is near the library's, but not as near as float16: only who asks for it gets that.
TEST(Cublas, TakesGeluByErfForWhoAllowsTheOneByTanh) {
  const std::string two = "%x: Tensor[(5, 16), float16], %w: Tensor[(24, 16), float16]";
  const std::string dense = "%0 = nn.dense(%x, %w, units=24);\n  ";
  const std::string written =
      "multiply(multiply(%0, 0.5f16), add(erf(divide(%0, 1.41421f16)), 1f16))";
  const std::string why =
      "the library's GELU is the one by tanh, which this one by erf differs from by up to 0.00048: "
      "-gelu_by_tanh allows that";
  const Target allowing = Target("cublas").with("gelu_by_tanh", true);
  for (const std::string& gelu : {std::string("nn.gelu(%0)"), written}) {
    EXPECT_EQ(refusal_of(two, dense + gelu), why) << gelu;
    EXPECT_EQ(refusal_of(two, dense + gelu, allowing), "taken") << gelu;
    testing::expect_taken({gelu, two, dense + gelu, "product_activation"}, allowing);
  }
  EXPECT_EQ(
      refusal_of(two, dense + "multiply(multiply(%0, 0.5f16), add(erf(divide(%0, 2f16)), 1f16))",
                 allowing),
      "the constants are not those of GELU");
  // The product is still one of the library's, and who asks is told why GELU is none.
  const auto outcome =
      testing::compiled(testing::graph_of(two, dense + "nn.gelu(%0)"), Target("cublas"));
  EXPECT_EQ(testing::graphs::composites_of(outcome), std::vector<std::string>{"product"});
  EXPECT_TRUE(std::any_of(outcome.refusals.begin(), outcome.refusals.end(),
                          [&](const auto& refusal) { return refusal.reason == why; }));
}

TEST(Cublas, SaysTheProductInItsPayload) {
  EXPECT_EQ(
      payload_of("%r: Tensor[(2, 5, 24), float32], %x: Tensor[(2, 5, 16), float32], "
                 "%c_w: Tensor[(24, 16), float32], %b: Tensor[(24), float32]",
                 "nn.relu(add(add(nn.dense(%x, %c_w, units=24), %b), %r))", Target("cublas")),
      "a_type=float32 b_type=float32 result=float32 sums=float32 activation=relu scales=none a=0 "
      "b=1 bias=2 residual=3 a_scale=-1 b_scale=-1 a_transposed=0 b_transposed=1 a_repeats=0 "
      "b_repeats=0 batch_rank=0 m=10 n=24 k=16 "
      "batch=1 workspace_bytes=33554432 version=0 best_m=-1 best_n=-1 best_batch=-1 "
      "alpha=0x1p+0");
  EXPECT_NE(payload_of("%x: Tensor[(5, 16), float32], %w: Tensor[(24, 16), float32]",
                       "nn.dense(%x, %w, units=24)", Target("cublas").with("tf32", true))
                .find("sums=tf32"),
            std::string::npos);
}

TEST(Cublas, TellsItsLibrary) {
  const Target target("cublas");
  EXPECT_FALSE(cublas_backend().available(target));
  const auto library = cublas_backend().library(target);
  ASSERT_TRUE(library);
  EXPECT_EQ(library->version, "cublasLt 13.1.0");
  EXPECT_EQ(library->path, cublas_backend().library_path(kLibraryFile));
  EXPECT_EQ(cublas_backend().library_path("libcublas.so.13"), "");
}

}  // namespace
}  // namespace tessera::backends::cublas
