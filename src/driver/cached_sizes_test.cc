// SPDX-License-Identifier: Apache-2.0
// Models whose tensors have sums, products and quotients of sizes, as decoders with caches do: by
// each back end, a run knows every size or the region is refused.
#include <sstream>

#include "driver/testing/dynamic_shapes.h"

namespace tessera::driver {
namespace {

using testing::DynamicShapes;
using Sizes = std::map<std::string, std::int64_t>;

class CachedSizes : public DynamicShapes, public ::testing::WithParamInterface<const char*> {
 protected:
  void compile_by(const std::string& text) {
    std::vector<std::string> targets = {"cpu"};
    std::istringstream names(GetParam());
    for (std::string name; names >> name;) targets.push_back(name);
    compile_text(text, targets);
  }
};

// The sum is a size of tensors that the region reads; a stride of one of them needs `past` alone.
TEST_P(CachedSizes, ASumOfSizes) {
  compile_by(
      "#[symbol past = 0..]\n"
      "def @main(%q: Tensor[(?batch, 2, ?seq, 8), float32],\n"
      "          %k: Tensor[(?batch, 2, ?seq, 8), float32],\n"
      "          %past: Tensor[(?batch, 2, ?past, 8), float32]) {\n"
      "  %0 = concatenate((%past, %k), axis=2);\n"
      "  %1 = cumsum(%0, axis=2);\n"
      "  %2 = transpose(%1, axes=[0, 1, 3, 2]);\n"
      "  nn.matmul(%q, %2, units=None)\n}\n");
  for (const Sizes& sizes : {Sizes{{"batch", 2}, {"past", 5}, {"seq", 3}},
                             {{"batch", 1}, {"past", 0}, {"seq", 4}},
                             {{"batch", 3}, {"past", 7}, {"seq", 1}}}) {
    expect_right(sizes);
  }
}

TEST_P(CachedSizes, AttentionOverACache) {
  compile_by(
      "#[symbol past = 0..]\n"
      "def @main(%x: Tensor[(?batch, ?seq, 16), float32], %w: Tensor[(16, 16), float32],\n"
      "          %k: Tensor[(?batch, 2, ?past, 8), float32],\n"
      "          %v: Tensor[(?batch, 2, ?past, 8), float32],\n"
      "          %mask: Tensor[(?batch, 1, 1, ?(past+seq)), float32]) {\n"
      "  %0 = reshape(nn.matmul(%x, %w, units=None), newshape=[0, 0, 2, 8]);\n"
      "  %1 = transpose(%0, axes=[0, 2, 1, 3]);\n"
      "  %2 = concatenate((%k, %1), axis=2);\n"
      "  %3 = concatenate((%v, tanh(%1)), axis=2);\n"
      "  %4 = nn.matmul(%1, transpose(%2, axes=[0, 1, 3, 2]), units=None);\n"
      "  %5 = nn.softmax(add(multiply(%4, 0.5f), %mask));\n"
      "  %6 = transpose(nn.matmul(%5, %3, units=None), axes=[0, 2, 1, 3]);\n"
      "  %7 = nn.matmul(reshape(%6, newshape=[0, 0, 16]), %w, units=None);\n"
      "  (add(%7, %x), %2, %3)\n}\n");
  for (const Sizes& sizes : {Sizes{{"batch", 2}, {"past", 5}, {"seq", 3}},
                             {{"batch", 1}, {"past", 0}, {"seq", 4}},
                             {{"batch", 1}, {"past", 9}, {"seq", 1}}}) {
    expect_right(sizes);
  }
}

// Only the product of two sizes is one of the region's tensors.
TEST_P(CachedSizes, AProductOfSizes) {
  compile_by(
      "def @main(%x: Tensor[(?(batch*seq), 16), float32], %w: Tensor[(16, 16), float32],\n"
      "          %b: Tensor[(?batch), float32], %s: Tensor[(?seq), float32]) {\n"
      "  %0 = nn.matmul(%x, %w, units=None);\n"
      "  %9 = concatenate((shape_of(%b, dtype=\"int64\"), shape_of(%s, dtype=\"int64\"),\n"
      "                    reshape(2i64, newshape=[1]), reshape(8i64, newshape=[1])));\n"
      "  %1 = dyn.reshape(%0, %9);\n"
      "  %2 = transpose(%1, axes=[0, 2, 1, 3]);\n"
      "  %3 = nn.softmax(nn.matmul(%2, transpose(%2, axes=[0, 1, 3, 2]), units=None));\n"
      "  %4 = transpose(nn.matmul(%3, %2, units=None), axes=[0, 2, 1, 3]);\n"
      "  (nn.matmul(reshape(%4, newshape=[-1, 16]), %w, units=None), exp(%b), exp(%s))\n}\n");
  for (const Sizes& sizes :
       {Sizes{{"batch", 2}, {"seq", 3}}, {{"batch", 1}, {"seq", 1}}, {{"batch", 3}, {"seq", 5}}}) {
    expect_right(sizes);
  }
}

TEST_P(CachedSizes, AQuotientOfSizes) {
  compile_by(
      "def @main(%x: Tensor[(?batch, ?(2*half), 8), float32],\n"
      "          %y: Tensor[(?half, 8), float32]) {\n"
      "  %0 = reshape(%x, newshape=[0, -1, 2, 8]);\n"
      "  %1 = nn.matmul(transpose(%0, axes=[0, 2, 1, 3]), transpose(%y, axes=[1, 0]), "
      "units=None);\n"
      "  nn.matmul(nn.softmax(%1), %y, units=None)\n}\n");
  for (const Sizes& sizes : {Sizes{{"batch", 2}, {"half", 3}},
                             {{"batch", 1}, {"half", 1}},
                             {{"batch", 2}, {"half", 8}}}) {
    expect_right(sizes);
  }
}

// No tensor of the region has the symbol itself.
TEST_P(CachedSizes, AMultipleAlone) {
  compile_by(
      "def @main(%x: Tensor[(2, ?(2*n), ?(floordiv(n+1, 2))), float32],\n"
      "          %g: Tensor[(?(floordiv(n+1, 2))), float32],\n"
      "          %b: Tensor[(?(floordiv(n+1, 2))), float32],\n"
      "          %n: Tensor[(?n), float32]) {\n"
      "  nn.layer_norm(%x, %g, %b)\n}\n");
  for (const Sizes& sizes : {Sizes{{"n", 4}}, {{"n", 1}}, {{"n", 7}}}) expect_right(sizes);
}

TEST_P(CachedSizes, AttentionOverAnEncodersResults) {
  compile_by(
      "#[symbol past = 0..]\n"
      "def @main(%q: Tensor[(?batch, 2, ?dec, 8), float32],\n"
      "          %past: Tensor[(?batch, 2, ?past, 8), float32],\n"
      "          %e: Tensor[(?batch, 2, ?enc, 8), float32]) {\n"
      "  %0 = concatenate((%past, %q), axis=2);\n"
      "  %1 = nn.softmax(nn.matmul(%q, transpose(%0, axes=[0, 1, 3, 2]), units=None));\n"
      "  %2 = nn.matmul(%1, %0, units=None);\n"
      "  %3 = nn.softmax(nn.matmul(%2, transpose(%e, axes=[0, 1, 3, 2]), units=None));\n"
      "  (nn.matmul(%3, %e, units=None), %0)\n}\n");
  for (const Sizes& sizes : {Sizes{{"batch", 2}, {"dec", 3}, {"past", 5}, {"enc", 6}},
                             {{"batch", 1}, {"dec", 1}, {"past", 0}, {"enc", 4}},
                             {{"batch", 1}, {"dec", 1}, {"past", 7}, {"enc", 1}}}) {
    expect_right(sizes);
  }
}

INSTANTIATE_TEST_SUITE_P(BackEnds, CachedSizes,
                         ::testing::Values("onednn", "blas", "ccompiler", "openvino",
                                           "onednn blas"));

}  // namespace
}  // namespace tessera::driver
