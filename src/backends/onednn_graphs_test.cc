// SPDX-License-Identifier: Apache-2.0
// Graphs as models hold them: which composites and regions they become, and that the numbers agree.
#include <algorithm>

#include <gtest/gtest.h>

#include "backends/onednn/onednn.h"
#include "backends/testing/graph_case.h"
#include "ops/evaluation/compare.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "passes/manager.h"
#include "support/testing/requirement.h"

namespace tessera::backends {
namespace {

using Names = std::vector<std::string>;

struct GraphCase {
  const char* name;
  Names composites;
  std::size_t regions;
  const char* text;
};

void PrintTo(const GraphCase& c, std::ostream* out) { *out << c.name; }

const GraphCase kCases[] = {
    {"dense_bias", {"dense_bias"}, 1, R"(
def @main(%x: Tensor[(4, 8, 16), float32], %c_w: Tensor[(24, 16), float32], %c_b: Tensor[(24), float32]) {
  %0 = nn.dense(%x, %c_w, units=24);
  add(%0, %c_b)
})"},
    {"matmul_bias_gelu_erf", {"matmul_bias_gelu_erf"}, 1, R"(
def @main(%x: Tensor[(1, 8, 16), float32], %c_w: Tensor[(16, 24), float32], %c_b: Tensor[(24), float32]) {
  %0 = nn.matmul(%x, %c_w, units=None);
  %1 = add(%c_b, %0);
  %2 = divide(%1, 1.41421354f);
  %3 = erf(%2);
  %4 = add(%3, 1f);
  %5 = multiply(%1, %4);
  multiply(%5, 0.5f)
})"},
    {"dense_gelu_tanh_after_reshape", {"matmul_bias_gelu_tanh", "matmul_bias_add"}, 1, R"(
def @main(%x: Tensor[(1, 8, 16), float32], %r: Tensor[(1, 8, 16), float32], %c_w: Tensor[(16, 24), float32], %c_b: Tensor[(24), float32], %c_v: Tensor[(24, 16), float32], %c_d: Tensor[(16), float32]) {
  %0 = reshape(%x, newshape=[8, 16]);
  %1 = nn.matmul(%0, %c_w, units=24);
  %2 = add(%1, %c_b);
  %3 = reshape(%2, newshape=[1, 8, 24]);
  %4 = multiply(%3, 0.5f);
  %5 = power(%3, 3f);
  %6 = multiply(%5, 0.044715f);
  %7 = add(%3, %6);
  %8 = multiply(%7, 0.797884583f);
  %9 = tanh(%8);
  %10 = add(%9, 1f);
  %11 = multiply(%4, %10);
  %12 = reshape(%11, newshape=[8, 24]);
  %13 = nn.matmul(%12, %c_v, units=16);
  %14 = add(%13, %c_d);
  %15 = reshape(%14, newshape=[1, 8, 16]);
  add(%r, %15)
})"},
    {"no_gelu", {"dense_bias"}, 1, R"(
def @main(%x: Tensor[(8, 16), float32], %c_w: Tensor[(24, 16), float32], %c_b: Tensor[(24), float32]) {
  %0 = nn.dense(%x, %c_w, units=24);
  %1 = add(%0, %c_b);
  %2 = divide(%1, 1.5f);
  %3 = erf(%2);
  %4 = add(%3, 1f);
  %5 = multiply(%1, %4);
  multiply(%5, 0.5f)
})"},
    {"attention", {"batch_matmul_add", "batch_matmul"}, 2, R"(
def @main(%q: Tensor[(2, 8, 12), float32], %k: Tensor[(2, 8, 12), float32], %v: Tensor[(2, 8, 12), float32], %mask: Tensor[(2, 1, 1, 8), float32]) {
  %0 = reshape(%q, newshape=[2, 8, 3, 4]);
  %1 = transpose(%0, axes=[0, 2, 1, 3]);
  %2 = multiply(%1, 0.7f);
  %3 = reshape(%k, newshape=[2, 8, 3, 4]);
  %4 = transpose(%3, axes=[0, 2, 3, 1]);
  %5 = multiply(%4, 0.7f);
  %6 = nn.matmul(%2, %5, units=None);
  %7 = add(%6, %mask);
  %8 = exp(%7);
  %9 = reshape(%v, newshape=[2, 8, 3, 4]);
  %10 = transpose(%9, axes=[0, 2, 1, 3]);
  %11 = nn.matmul(%8, %10, units=None);
  %12 = transpose(%11, axes=[0, 2, 1, 3]);
  reshape(%12, newshape=[2, 8, 12])
})"},
    {"attention_full_mask", {"batch_matmul_add"}, 1, R"(
def @main(%q: Tensor[(1, 3, 8, 4), float32], %k: Tensor[(1, 3, 8, 4), float32], %mask: Tensor[(1, 1, 8, 8), float32]) {
  %0 = transpose(%k, axes=[0, 1, 3, 2]);
  %1 = nn.matmul(%q, %0, units=None);
  %2 = divide(%1, 2f);
  add(%2, %mask)
})"},
    // The scores are so many that they are computed in blocks of queries, of one head each.
    {"attention_in_blocks", {"batch_matmul_add", "softmax", "batch_matmul"}, 1, R"(
def @main(%q: Tensor[(1, 1501, 8), float32], %k: Tensor[(1, 1501, 8), float32], %v: Tensor[(1, 1501, 8), float32], %mask: Tensor[(1, 1, 1501, 1501), float32]) {
  %0 = reshape(%q, newshape=[1, 1501, 2, 4]);
  %1 = transpose(%0, axes=[0, 2, 1, 3]);
  %2 = reshape(%k, newshape=[1, 1501, 2, 4]);
  %3 = transpose(%2, axes=[0, 2, 3, 1]);
  %4 = nn.matmul(%1, %3, units=None);
  %5 = add(%4, %mask);
  %6 = nn.softmax(%5);
  %7 = reshape(%v, newshape=[1, 1501, 2, 4]);
  %8 = transpose(%7, axes=[0, 2, 1, 3]);
  %9 = nn.matmul(%6, %8, units=None);
  %10 = transpose(%9, axes=[0, 2, 1, 3]);
  reshape(%10, newshape=[1, 1501, 8])
})"},
    {"batch_matmul_3d", {"batch_matmul"}, 1, R"(
def @main(%a: Tensor[(5, 8, 4), float32], %b: Tensor[(5, 7, 4), float32]) {
  nn.batch_matmul(%a, %b, transpose_b=True)
})"},
    {"dense_without_constant", {"dense_relu"}, 1, R"(
def @main(%x: Tensor[(8, 16), float32], %w: Tensor[(24, 16), float32]) {
  %0 = nn.dense(%x, %w, units=24);
  nn.relu(%0)
})"},
    {"residual_block",
     {"conv2d_bias_relu", "conv2d_bias", "conv2d_bias_relu", "conv2d_bias_add_relu", "max_pool2d",
      "global_avg_pool2d", "dense_bias"},
     1,
     R"(
def @main(%x: Tensor[(1, 3, 17, 17), float32], %c_w0: Tensor[(32, 3, 3, 3), float32], %c_b0: Tensor[(32, 1, 1), float32], %c_w1: Tensor[(32, 32, 3, 3), float32], %c_b1: Tensor[(32, 1, 1), float32], %c_w2: Tensor[(32, 32, 1, 1), float32], %c_b2: Tensor[(1, 32, 1, 1), float32], %c_w3: Tensor[(32, 32, 3, 3), float32], %c_b3: Tensor[(32), float32], %c_w4: Tensor[(10, 32), float32], %c_b4: Tensor[(10), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], channels=32, kernel_size=[3, 3]);
  %1 = add(%0, %c_b0);
  %2 = nn.relu(%1);
  %3 = nn.conv2d(%2, %c_w2, channels=32, kernel_size=[1, 1]);
  %4 = add(%3, %c_b2);
  %5 = nn.conv2d(%2, %c_w1, padding=[1, 1], channels=32, kernel_size=[3, 3]);
  %6 = add(%5, %c_b1);
  %7 = nn.relu(%6);
  %8 = nn.conv2d(%7, %c_w3, padding=[1, 1], channels=32, kernel_size=[3, 3]);
  %9 = nn.bias_add(%8, %c_b3);
  %10 = add(%9, %4);
  %11 = nn.relu(%10);
  %12 = nn.max_pool2d(%11, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]);
  %13 = nn.global_avg_pool2d(%12);
  %14 = nn.batch_flatten(%13);
  %15 = nn.dense(%14, %c_w4, units=10);
  add(%15, %c_b4)
})"},
    {"depthwise_clip", {"conv2d_bias_clip", "conv2d_bias_add"}, 1, R"(
def @main(%x: Tensor[(1, 24, 9, 9), float32], %c_w0: Tensor[(24, 1, 3, 3), float32], %c_b0: Tensor[(24, 1, 1), float32], %c_w1: Tensor[(24, 24, 1, 1), float32], %c_b1: Tensor[(24, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], groups=24, channels=24, kernel_size=[3, 3]);
  %1 = add(%0, %c_b0);
  %2 = clip(%1, a_min=0f, a_max=6f);
  %3 = nn.conv2d(%2, %c_w1, channels=24, kernel_size=[1, 1]);
  %4 = add(%3, %c_b1);
  add(%x, %4)
})"},
    {"squeeze_and_excitation",
     {"conv2d_bias_swish", "image_mean", "conv2d_bias_swish", "conv2d_bias_sigmoid", "gate",
      "conv2d_bias"},
     1,
     R"(
def @main(%x: Tensor[(2, 24, 9, 7), float32], %c_w0: Tensor[(24, 1, 3, 3), float32], %c_b0: Tensor[(24), float32], %c_w1: Tensor[(6, 24, 1, 1), float32], %c_b1: Tensor[(6), float32], %c_w2: Tensor[(24, 6, 1, 1), float32], %c_b2: Tensor[(24), float32], %c_w3: Tensor[(40, 24, 1, 1), float32], %c_b3: Tensor[(40), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], groups=24, channels=24, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %c_b0);
  %2 = sigmoid(%1);
  %3 = multiply(%1, %2);
  %4 = mean(%3, axis=[-1, 2], keepdims=True);
  %5 = nn.conv2d(%4, %c_w1, channels=6, kernel_size=[1, 1]);
  %6 = nn.bias_add(%5, %c_b1);
  %7 = sigmoid(%6);
  %8 = multiply(%6, %7);
  %9 = nn.conv2d(%8, %c_w2, channels=24, kernel_size=[1, 1]);
  %10 = nn.bias_add(%9, %c_b2);
  %11 = sigmoid(%10);
  %12 = multiply(%11, %3);
  %13 = nn.conv2d(%12, %c_w3, channels=40, kernel_size=[1, 1]);
  nn.bias_add(%13, %c_b3)
})"},
    // The mean has no dimensions of size one, and a gate of one channel for all is none.
    {"mean_without_its_dimensions", {"conv2d_relu", "image_mean", "dense_sigmoid"}, 1, R"(
def @main(%x: Tensor[(2, 3, 8, 8), float32], %c_w0: Tensor[(20, 3, 3, 3), float32], %c_w1: Tensor[(1, 20), float32]) {
  %0 = nn.conv2d(%x, %c_w0, channels=20, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = mean(%1, axis=[2, 3]);
  %3 = nn.dense(%2, %c_w1, units=1);
  %4 = sigmoid(%3);
  %5 = reshape(%4, newshape=[2, 1, 1, 1]);
  multiply(%1, %5)
})"},
    {"norm_of_images", {"conv2d_relu"}, 1, R"(
def @main(%x: Tensor[(2, 3, 8, 8), float32], %m: Tensor[(2, 20, 1, 1), float32], %c_w0: Tensor[(20, 3, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %c_w0, channels=20, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %3 = subtract(%1, %m);
  %4 = mean(multiply(%3, %3), axis=[2, 3], keepdims=True);
  multiply(%3, rsqrt(add(%4, 1e-05f)))
})"},
    {"gate_in_one_dimension", {"conv1d_relu", "gate", "conv1d"}, 1, R"(
def @main(%x: Tensor[(3, 16, 11), float32], %g: Tensor[(3, 16, 1), float32], %c_w0: Tensor[(16, 16, 3), float32], %c_w1: Tensor[(16, 16, 1), float32]) {
  %0 = nn.conv1d(%x, %c_w0, channels=16, kernel_size=[3], padding=[1, 1]);
  %1 = nn.relu(%0);
  %2 = multiply(%1, %g);
  nn.conv1d(%2, %c_w1, channels=16, kernel_size=[1])
})"},
    // A norm's factor goes into the convolution after it where that is all that reads it.
    {"dense_block",
     {"conv2d_bias_relu", "max_pool2d", "add_relu", "conv2d", "concatenate", "add_relu", "conv2d",
      "concatenate", "scale_shift_relu", "conv2d", "conv2d_add"},
     1,
     R"(
def @main(%x: Tensor[(2, 3, 21, 19), float32], %c_w0: Tensor[(32, 3, 3, 3), float32], %c_b0: Tensor[(32), float32], %c_s1: Tensor[(32, 1, 1), float32], %c_w1: Tensor[(24, 32, 3, 3), float32], %c_s2: Tensor[(1, 56, 1, 1), float32], %c_w2: Tensor[(24, 56, 3, 3), float32], %c_f3: Tensor[(80, 1, 1), float32], %c_s3: Tensor[(80, 1, 1), float32], %c_w3: Tensor[(40, 80, 1, 1), float32], %c_w4: Tensor[(40, 80, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], channels=32, kernel_size=[3, 3]);
  %1 = nn.bias_add(%0, %c_b0);
  %2 = nn.relu(%1);
  %3 = nn.max_pool2d(%2, pool_size=[3, 3], strides=[2, 2], padding=[1, 1]);
  %4 = add(%3, %c_s1);
  %5 = nn.relu(%4);
  %6 = nn.conv2d(%5, %c_w1, padding=[1, 1], channels=24, kernel_size=[3, 3]);
  %7 = concatenate((%3, %6), axis=1);
  %8 = add(%c_s2, %7);
  %9 = nn.relu(%8);
  %10 = nn.conv2d(%9, %c_w2, padding=[1, 1], channels=24, kernel_size=[3, 3]);
  %11 = concatenate((%3, %6, %10), axis=1);
  %12 = multiply(%11, %c_f3);
  %13 = add(%12, %c_s3);
  %14 = nn.relu(%13);
  %15 = nn.conv2d(%14, %c_w3, channels=40, kernel_size=[1, 1]);
  %16 = nn.conv2d(%14, %c_w4, channels=40, kernel_size=[1, 1]);
  add(%15, %16)
})"},
    {"joined_with_itself", {"conv2d_relu", "concatenate", "conv2d"}, 1, R"(
def @main(%x: Tensor[(2, 3, 9, 7), float32], %c_w0: Tensor[(16, 3, 3, 3), float32], %c_w1: Tensor[(8, 160, 1, 1), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], channels=16, kernel_size=[3, 3]);
  %1 = nn.relu(%0);
  %2 = concatenate((%1, %1, %1, %1, %1, %1, %1, %1, %1, %1), axis=1);
  nn.conv2d(%2, %c_w1, channels=8, kernel_size=[1, 1])
})"},
    {"shift_in_one_dimension", {"conv1d", "max_pool1d", "add_relu", "conv1d"}, 1, R"(
def @main(%x: Tensor[(3, 16, 11), float32], %c_w0: Tensor[(16, 16, 3), float32], %c_s: Tensor[(16, 1), float32], %c_w1: Tensor[(16, 16, 1), float32]) {
  %0 = nn.conv1d(%x, %c_w0, channels=16, kernel_size=[3], padding=[1, 1]);
  %1 = nn.max_pool1d(%0, pool_size=[3], padding=[1, 1]);
  %2 = nn.relu(add(%1, %c_s));
  nn.conv1d(%2, %c_w1, channels=16, kernel_size=[1])
})"},
    // Offsets of the last dimension are none of channels, and a norm stays in one piece.
    {"shifts_of_others", {"conv2d"}, 1, R"(
def @main(%x: Tensor[(2, 3, 8, 8), float32], %m: Tensor[(2, 20, 1, 1), float32], %c_w0: Tensor[(20, 3, 3, 3), float32], %c_f: Tensor[(20, 1, 1), float32], %c_s: Tensor[(20, 1, 1), float32], %c_l: Tensor[(6), float32]) {
  %0 = nn.conv2d(%x, %c_w0, channels=20, kernel_size=[3, 3]);
  %1 = subtract(%0, %m);
  %2 = mean(multiply(%1, %1), axis=[2, 3], keepdims=True);
  %3 = multiply(%1, rsqrt(add(%2, 1e-05f)));
  %4 = nn.relu(add(multiply(%3, %c_f), %c_s));
  nn.relu(add(%4, %c_l))
})"},
    // A foreign operator on the way between two convolutions keeps them in two regions.
    {"no_cycle", {"conv2d", "conv2d_add"}, 2, R"(
def @main(%x: Tensor[(1, 8, 9, 9), float32], %c_w0: Tensor[(8, 8, 3, 3), float32], %c_w1: Tensor[(8, 8, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %c_w0, padding=[1, 1], channels=8, kernel_size=[3, 3]);
  %1 = cos(%0);
  %2 = nn.conv2d(%1, %c_w1, padding=[1, 1], channels=8, kernel_size=[3, 3]);
  add(%2, %0)
})"},
    {"two_outputs", {"dense_relu", "dense_bias"}, 1, R"(
def @main(%x: Tensor[(8, 16), float32], %c_w: Tensor[(16, 16), float32], %c_b: Tensor[(16), float32]) {
  %0 = nn.dense(%x, %c_w, units=16);
  %1 = nn.relu(%0);
  %2 = nn.dense(%1, %c_w, units=16);
  %3 = add(%2, %c_b);
  (%1, %3)
})"},
    {"deconvolution", {"conv2d_transpose_bias", "conv2d_transpose"}, 2, R"(
def @main(%x: Tensor[(2, 16, 7, 9), float32], %c_w0: Tensor[(16, 32, 4, 4), float32], %c_b0: Tensor[(32, 1, 1), float32], %c_w1: Tensor[(32, 6, 3, 2), float32]) {
  %0 = nn.conv2d_transpose(%x, %c_w0, strides=[2, 2], padding=[1, 1], channels=32, kernel_size=[4, 4]);
  %1 = add(%0, %c_b0);
  %2 = nn.relu(%1);
  nn.conv2d_transpose(%2, %c_w1, strides=[2, 3], padding=[0, 1], output_padding=[1, 2], groups=2, channels=12, kernel_size=[3, 2])
})"},
    // One of oneDNN 3.2's implementations for AVX-512 sums so many channels wrongly.
    {"deconvolution_of_many_channels", {"conv2d_transpose"}, 1, R"(
def @main(%x: Tensor[(1, 256, 4, 5), float32], %c_w: Tensor[(256, 128, 4, 4), float32]) {
  nn.conv2d_transpose(%x, %c_w, strides=[2, 2], padding=[1, 1], channels=128, kernel_size=[4, 4])
})"},
    // The weights are no constant, so that they lie as the model has them.
    {"deconvolution_1d", {"conv1d_transpose_bias"}, 1, R"(
def @main(%x: Tensor[(2, 16, 11), float32], %w: Tensor[(16, 24, 5), float32], %c_b: Tensor[(24, 1), float32]) {
  %0 = nn.conv1d_transpose(%x, %w, strides=[3], padding=[2, 1], output_padding=[2], dilation=[2], channels=24, kernel_size=[5]);
  %1 = add(%0, %c_b);
  tanh(%1)
})"},
    {"deconvolution_3d", {"conv3d_transpose_bias"}, 1, R"(
def @main(%x: Tensor[(1, 16, 3, 4, 5), float32], %c_w: Tensor[(16, 16, 3, 3, 3), float32], %c_b: Tensor[(16), float32]) {
  %0 = nn.conv3d_transpose(%x, %c_w, strides=[2, 2, 2], padding=[1, 1, 1], output_padding=[1, 1, 1], channels=16, kernel_size=[3, 3, 3], kernel_layout="IODHW");
  nn.bias_add(%0, %c_b)
})"},
    {"inception", {"conv2d_relu", "conv2d_relu", "concatenate"}, 1, R"(
def @main(%x: Tensor[(1, 16, 7, 7), float32], %c_w0: Tensor[(16, 16, 1, 1), float32], %c_w1: Tensor[(32, 16, 3, 3), float32]) {
  %0 = nn.conv2d(%x, %c_w0, channels=16, kernel_size=[1, 1]);
  %1 = nn.relu(%0);
  %2 = nn.conv2d(%x, %c_w1, padding=[1, 1], channels=32, kernel_size=[3, 3]);
  %3 = nn.relu(%2);
  %4 = (%1, %3);
  concatenate(%4, axis=1)
})"},
};

class OnednnGraphs : public ::testing::TestWithParam<GraphCase> {};

TEST_P(OnednnGraphs, ArePlacedAndAgree) {
  if (!::tessera::testing::is_there("onednn", !onednn_backend().available(Target("onednn")))) {
    GTEST_SKIP() << "onednn is not there";
  }
  const Module module = testing::parse_graph(GetParam().text);
  const byoc::BackendChoice choices[] = {{&onednn_backend(), Target("onednn")}};
  const auto outcome = testing::compile_graph(module, choices);
  EXPECT_EQ(testing::composites_of(outcome), GetParam().composites);
  EXPECT_EQ(outcome.regions.size(), GetParam().regions);
  for (const auto& r : outcome.refusals) {
    RecordProperty(r.composite, r.reason);
  }
  testing::expect_same_results(outcome.module, module);
}

// The same in bfloat16, as --precision makes it: parts of an operator may have become one, and none
// goes to another region.
TEST_P(OnednnGraphs, ArePlacedAndAgreeInBfloat16) {
  const auto types = onednn_backend().capabilities(Target("onednn")).types_of_16_bits;
  if (std::ranges::find(types, kBFloat16) == types.end()) GTEST_SKIP() << "no bfloat16 here";
  const Module module = testing::parse_graph(GetParam().text);
  const auto calls = passes::parse_pipeline(
      "recognize-gelu,to-mixed-precision{dtype=bfloat16},simplify-expr", passes::all_passes());
  auto low = passes::run_passes(module, *calls, ops::operators(), {});
  ASSERT_TRUE(low) << render(low.error());
  const auto typed = ops::infer_types(std::move(low->module));
  const byoc::BackendChoice choices[] = {{&onednn_backend(), Target("onednn")}};
  const auto outcome = testing::compile_graph(*typed, choices);
  EXPECT_EQ(testing::composites_of(outcome).size(), GetParam().composites.size());
  EXPECT_EQ(outcome.regions.size(), GetParam().regions);
  testing::expect_same_results(outcome.module, module, ops::graph_tolerance(kBFloat16));
}

INSTANTIATE_TEST_SUITE_P(Cases, OnednnGraphs, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::backends
