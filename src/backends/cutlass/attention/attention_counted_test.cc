// SPDX-License-Identifier: Apache-2.0
// Attention whose heads and batches are one dimension, as BART, OPT, Pegasus and M2M are exported:
// (batch * heads, rows, width), with reshapes around the mask; and heads of other widths.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/cutlass/testing/models.h"
#include "ops/inference/infer_types.h"
#include "relay/rewrite.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using Names = std::vector<std::string>;

constexpr const char* kHeads = R"(
  %0 = reshape(multiply(%q, 0.125f16), newshape=[2, 96, 12, 64]);
  %1 = reshape(transpose(%0, axes=[0, 2, 1, 3]), newshape=[24, 96, 64]);
  %2 = transpose(reshape(%k, newshape=[2, 96, 12, 64]), axes=[0, 2, 3, 1]);
  %3 = reshape(%2, newshape=[24, 64, 96]);
  %4 = reshape(%v, newshape=[2, 96, 12, 64]);
  %5 = reshape(transpose(%4, axes=[0, 2, 1, 3]), newshape=[24, 96, 64]);
  %6 = nn.matmul(%1, %3, units=None);
)";
constexpr const char* kResult = R"(
  %21 = reshape(nn.matmul(%20, %5, units=None), newshape=[2, 12, 96, 64]);
  reshape(transpose(%21, axes=[0, 2, 1, 3]), newshape=[2, 96, 768])
)";
constexpr const char* kInBatches = "  %7 = reshape(%6, newshape=[2, 12, 96, 96]);\n";

// `between` makes probabilities, %20, of scores, %6, or of %7, which are of rank 4. %causal is a
// constant that hides the keys after the query, once for each of so many batches.
Module counted_model(const std::string& between, int causal_batches = 1,
                     const std::string& heads = kHeads, const std::string& result = kResult) {
  Module module = parse(
      fmt::format("def @main(%q: Tensor[(2, 96, 768), float16], %k: Tensor[(2, 96, 768), float16], "
                  "%v: Tensor[(2, 96, 768), float16], %m: Tensor[(2, 1, 1, 96), float16], "
                  "%full: Tensor[(2, 1, 96, 96), float16], %seen: Tensor[(2, 1, 1, 96), bool], "
                  "%ids: Tensor[(2, 96), int64], %alibi: Tensor[(24, 1, 96), float16], "
                  "%causal: Tensor[({}, 1, 96, 96), float16]) {{\n{}{}{}}}",
                  causal_batches, heads, between, result));
  const relay::Function f = module.functions.at("main");
  module.functions.at("main") =
      relay::rewrite(f, [&](relay::Copier& c, relay::NodeId id) -> std::optional<relay::NodeId> {
        const auto* param = f.as<relay::Param>(id);
        if (param == nullptr || param->name != "causal") return std::nullopt;
        std::vector<double> values;
        for (int i = 0; i < causal_batches * 96 * 96; ++i) {
          values.push_back(i % 96 <= i / 96 % 96 ? 0 : -65504);
        }
        return c.builder().constant(
            tensor_from_doubles({causal_batches, 1, 96, 96}, kFloat16, values));
      });
  return *ops::infer_types(std::move(module));
}

std::string back_from(const std::string& masked) {
  return fmt::format(
      "{}  %8 = reshape({}, newshape=[24, 96, 96]);\n  %20 = nn.softmax(%8, axis=2);\n", kInBatches,
      masked);
}

// A kernel whose name has `mask`, and the mask as its call has it.
struct Case {
  std::string between, mask, call;
  int causal_batches = 1;
};

TEST(CountedHeads, AreOneKernelWithReshapesAroundTheMask) {
  const std::string of_keys = "96, 0, 0};";
  const Case cases[] = {
      {"  %20 = nn.softmax(%6, axis=-1);\n", "", ""},
      {"  %20 = nn.softmax(%6, axis=2);\n", "", ""},
      {back_from("%7"), "", ""},
      {back_from("add(%7, %m)"), "_keymask_float16", of_keys},
      {back_from("add(%m, %7)"), "_keymask_float16", of_keys},
      {back_from("add(%7, %full)"), "_mask_float16", "9216, 0, 96};"},
      {back_from("add(%7, %causal)"), "_causal", ""},
      {back_from("add(%7, %causal)"), "_causal", "", 2},
      {back_from("add(add(%7, %causal), %m)"), "_causal_keymask_float16", of_keys},
      {back_from("add(reshape(reshape(add(%7, %causal), newshape=[24, 96, 96]), "
                 "newshape=[2, 12, 96, 96]), %m)"),
       "_causal_keymask_float16", of_keys},
      {back_from("where(%seen, %7, -65504f16)"), "_keymask_bool", of_keys},
      // a mask of tokens, as exporters compute it
      {"  %9 = cast(expand_dims(expand_dims(%ids, axis=1), axis=2), dtype=\"float16\");\n"
       "  %10 = multiply(subtract(1f16, %9), -65504f16);\n" +
           back_from("add(%7, %10)"),
       "_keymask_float16", of_keys},
      // OPT: a bound, and the softmax in float32
      {std::string(kInBatches) +
           "  %8 = reshape(maximum(add(%7, %full), -65504f16), newshape=[24, 96, 96]);\n"
           "  %9 = nn.softmax(cast(%8, dtype=\"float32\"), axis=2);\n"
           "  %20 = cast(%9, dtype=\"float16\");\n",
       "_mask_float16", "9216, 0, 96};"},
      // BLOOM: what is added to counted heads, and the softmax in batches
      {"  %7 = reshape(add(%6, %alibi), newshape=[2, 12, 96, 96]);\n"
       "  %8 = nn.softmax(cast(add(%7, %causal), dtype=\"float32\"), axis=3);\n"
       "  %20 = reshape(cast(%8, dtype=\"float16\"), newshape=[24, 96, 96]);\n",
       "_causal_keymask_float16", "1152, 96, 0};"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.between);
    RecordingToolchain toolchain;
    const auto outcome = compile(counted_model(c.between, c.causal_batches), toolchain);
    const Names names = composites_of(outcome);
    ASSERT_EQ(names.size(), 1u) << names[0];
    EXPECT_TRUE(names[0].ends_with("attention_merged")) << names[0];
    EXPECT_TRUE(toolchain.sources.contains("tessera_attention_float16_64" + c.mask +
                                           "_sm90_64x128_SelfLoading"))
        << toolchain.sources.begin()->first;
    const std::string& text = toolchain.sources.at("cutlass_regions");
    for (const std::string& line :
         {std::string("a.batch = 2, a.heads = 12, a.queries = 96, a.keys = 96, a.width = 64;"),
          std::string("a.scale = 0x1p-3f;"),
          std::string("a.q = {data(tensors[0]), 73728, 64, 768};"),
          std::string("a.k = {data(tensors[1]), 73728, 64, 768};"),
          std::string(", 73728, 64, 768};\n  a.o = {data(tensors["),
          c.call.empty() ? c.call : "), " + c.call}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
    EXPECT_EQ(text.find("a.mask = ") == std::string::npos, c.call.empty()) << text;
  }
}

// Wherever a scale stands, it is the same kernel; and so it is where K is transposed twice, and
// where the product transposes it.
TEST(CountedHeads, MayBeScaledAndTransposedInAnyOrder) {
  RecordingToolchain usual;
  compile(counted_model("  %20 = nn.softmax(%6, axis=2);\n"), usual);
  const auto replaced = [](std::string from, std::string to) {
    std::string heads = kHeads;
    const std::size_t at = heads.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return heads.replace(at, from.size(), to);
  };
  const std::string unscaled = replaced("multiply(%q, 0.125f16)", "%q");
  const auto with_scores = [&](const std::string& scores) {
    std::string heads = unscaled;
    return heads.replace(heads.find("  %6 = "), std::string::npos, scores);
  };
  const std::string forms[] = {
      replaced("reshape(multiply(%q, 0.125f16), newshape=[2, 96, 12, 64])",
               "multiply(reshape(%q, newshape=[2, 96, 12, 64]), 0.125f16)"),
      with_scores("  %6 = nn.matmul(multiply(%1, 0.125f16), %3, units=None);\n"),
      with_scores("  %6 = nn.matmul(%1, multiply(%3, 0.125f16), units=None);\n"),
      with_scores("  %6 = multiply(nn.matmul(%1, %3, units=None), 0.125f16);\n"),
      replaced("axes=[0, 2, 3, 1]);\n  %3 = reshape(%2, newshape=[24, 64, 96]);",
               "axes=[0, 2, 1, 3]);\n  %3 = transpose(reshape(%2, newshape=[24, 96, 64]), "
               "axes=[0, 2, 1]);"),
      [&] {
        std::string heads =
            replaced("axes=[0, 2, 3, 1]);\n  %3 = reshape(%2, newshape=[24, 64, 96]);",
                     "axes=[0, 2, 1, 3]);\n  %3 = reshape(%2, newshape=[24, 96, 64]);");
        return heads.replace(heads.find("nn.matmul(%1, %3, units=None)"), 29,
                             "nn.batch_matmul(%1, %3, transpose_b=True)");
      }(),
  };
  for (const std::string& heads : forms) {
    SCOPED_TRACE(heads);
    RecordingToolchain toolchain;
    const auto outcome =
        compile(counted_model("  %20 = nn.softmax(%6, axis=2);\n", 1, heads), toolchain);
    EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_merged"});
    EXPECT_EQ(toolchain.sources, usual.sources);
  }
}

// Parts of one product of all three, as combine-parallel-dense leaves them.
TEST(CountedHeads, MayBePartsOfAPackedTensor) {
  RecordingToolchain toolchain;
  const auto outcome = compile(R"(
def @main(%x: Tensor[(2, 96, 2304), float16]) {
  %0 = multiply(strided_slice(%x, begin=[0], end=[768], strides=[1], axes=[2]), 0.125f16);
  %1 = transpose(reshape(%0, newshape=[2, 96, 12, 64]), axes=[0, 2, 1, 3]);
  %2 = strided_slice(%x, begin=[768], end=[1536], strides=[1], axes=[2]);
  %3 = transpose(reshape(%2, newshape=[2, 96, 12, 64]), axes=[0, 2, 3, 1]);
  %4 = strided_slice(%x, begin=[1536], end=[2304], strides=[1], axes=[2]);
  %5 = transpose(reshape(%4, newshape=[2, 96, 12, 64]), axes=[0, 2, 1, 3]);
  %6 = reshape(%3, newshape=[24, 64, 96]);
  %7 = nn.softmax(nn.matmul(reshape(%1, newshape=[24, 96, 64]), %6, units=None), axis=2);
  %8 = nn.matmul(%7, reshape(%5, newshape=[24, 96, 64]), units=None);
  transpose(reshape(%8, newshape=[2, 12, 96, 64]), axes=[0, 2, 1, 3])
})",
                               toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_transposed"});
  const std::string& text = toolchain.sources.at("cutlass_regions");
  for (const char* line : {"a.q = {data(tensors[0]), 221184, 64, 2304};", "a.scale = 0x1p-3f;",
                           "a.k = {static_cast<char*>(data(tensors[0])) + 1536, 221184, 64, 2304};",
                           "a.v = {static_cast<char*>(data(tensors[0])) + 3072, 221184, 64, 2304};",
                           "a.o = {data(tensors[1]), 73728, 64, 768};"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

// With nothing around: a head a batch. The mask, too, is of rank 3, or comes in rank 4.
TEST(CountedHeads, MayComeAsTheyAre) {
  const auto text_of = [](const std::string& type, const std::string& scores) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        fmt::format(
            "def @main(%q: Tensor[(24, 32, 64), float16], %k: Tensor[(24, 96, 64), float16],"
            " %v: Tensor[(24, 96, 64), float16], %m: {}) {{\n"
            "  %0 = nn.batch_matmul(%q, %k, transpose_b=True);\n"
            "  nn.matmul(nn.softmax({}, axis=2), %v, units=None)\n}}",
            type, scores),
        toolchain);
    EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention"}) << scores;
    return toolchain.sources.at("cutlass_regions");
  };
  const std::string plain = text_of("Tensor[(24, 1, 96), float16]", "add(%0, %m)");
  for (const char* line :
       {"a.batch = 24, a.heads = 1, a.queries = 32, a.keys = 96,",
        "a.q = {data(tensors[0]), 2048, 2048, 64};", "a.k = {data(tensors[1]), 6144, 6144, 64};",
        "a.o = {data(tensors[4]), 2048, 2048, 64};", "a.mask = {data(tensors[2]), 96, 96, 0};"}) {
    EXPECT_NE(plain.find(line), std::string::npos) << line << "\n" << plain;
  }
  EXPECT_NE(text_of("Tensor[(1, 32, 96), float16]", "add(%0, %m)")
                .find("a.mask = {data(tensors[2]), 0, 3072, 96};"),
            std::string::npos);
  const std::string in_batches =
      text_of("Tensor[(2, 1, 1, 96), float16]",
              "reshape(add(reshape(%0, newshape=[2, 12, 32, 96]), %m), newshape=[24, 32, 96])");
  for (const char* line :
       {"a.batch = 2, a.heads = 12,", "a.q = {data(tensors[0]), 24576, 2048, 64};",
        "a.mask = {data(tensors[2]), 96, 0, 0};"}) {
    EXPECT_NE(in_batches.find(line), std::string::npos) << line << "\n" << in_batches;
  }
}

// GPT-NeoX: counted heads up to the scores, batches of heads from there.
TEST(CountedHeads, MayBeBatchesOfHeadsFromTheScoresOn) {
  RecordingToolchain toolchain;
  const std::string heads = kHeads;
  const std::string result = R"(
  %21 = transpose(reshape(%v, newshape=[2, 96, 12, 64]), axes=[0, 2, 1, 3]);
  reshape(transpose(nn.matmul(%20, %21, units=None), axes=[0, 2, 1, 3]), newshape=[2, 96, 768])
)";
  const auto outcome = compile(
      counted_model(std::string(kInBatches) + "  %20 = nn.softmax(add(%7, %full), axis=3);\n", 1,
                    heads.substr(0, heads.find("  %4 = ")) + heads.substr(heads.find("  %6 = ")),
                    result),
      toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_merged"});
  EXPECT_NE(
      toolchain.sources.at("cutlass_regions").find("a.mask = {data(tensors[2]), 9216, 0, 96};"),
      std::string::npos);
}

// Decoders that give their keys and values back, in heads or with these counted, read them as
// they are.
TEST(KeysAndValues, MayBeResultsToo) {
  const auto text_of = [](const std::string& body) {
    RecordingToolchain toolchain;
    const auto outcome = compile(
        "def @main(%q: Tensor[(2, 96, 768), float16], %k: Tensor[(2, 96, 768), float16], "
        "%v: Tensor[(2, 96, 768), float16]) {\n"
        "  %0 = transpose(reshape(%q, newshape=[2, 96, 12, 64]), axes=[0, 2, 1, 3]);\n"
        "  %1 = reshape(%k, newshape=[2, 96, 12, 64]);\n"
        "  %2 = transpose(%1, axes=[0, 2, 1, 3]);\n"
        "  %3 = transpose(reshape(%v, newshape=[2, 96, 12, 64]), axes=[0, 2, 1, 3]);\n" +
            body +
            "  %9 = transpose(%8, axes=[0, 2, 1, 3]);\n"
            "  (reshape(%9, newshape=[2, 96, 768]), %2, %3)\n}",
        toolchain);
    EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_merged"}) << body;
    return toolchain.sources.at("cutlass_regions");
  };
  for (const std::string& text :
       {text_of("  %4 = nn.matmul(%0, transpose(%1, axes=[0, 2, 3, 1]), units=None);\n"
                "  %8 = nn.matmul(nn.softmax(%4, axis=3), %3, units=None);\n"),
        text_of("  %4 = reshape(transpose(%1, axes=[0, 2, 3, 1]), newshape=[24, 64, 96]);\n"
                "  %5 = nn.matmul(reshape(%0, newshape=[24, 96, 64]), %4, units=None);\n"
                "  %6 = reshape(%3, newshape=[24, 96, 64]);\n"
                "  %7 = nn.matmul(nn.softmax(%5, axis=2), %6, units=None);\n"
                "  %8 = reshape(%7, newshape=[2, 12, 96, 64]);\n")}) {
    for (const char* line :
         {"a.batch = 2, a.heads = 12,", "a.q = {data(tensors[0]), 73728, 64, 768};",
          "a.k = {data(tensors[1]), 73728, 64, 768};",
          "a.v = {data(tensors[2]), 73728, 6144, 64};"}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
  }
}

// Kernels are for heads of 64, 128, 192 and 256; narrower ones say how wide they are.
TEST(HeadsOfOtherWidths, GoToTheKernelsOfWiderOnes) {
  for (const auto& [width, kernel] :
       {std::pair(8, "64_sm90_64x128"), std::pair(32, "64_sm90_64x128"),
        std::pair(40, "64_sm90_64x128"), std::pair(72, "128_sm90_64x64"),
        std::pair(80, "128_sm90_64x64"), std::pair(96, "128_sm90_64x64"),
        std::pair(120, "128_sm90_64x64"), std::pair(160, "192_sm90_64x64"),
        std::pair(192, "192_sm90_64x64"), std::pair(256, "256_sm90_64x64")}) {
    SCOPED_TRACE(width);
    RecordingToolchain toolchain;
    const auto outcome =
        compile(fmt::format("def @main(%x: Tensor[(2, 96, 4, {}), bfloat16]) {{\n"
                            "  %0 = transpose(%x, axes=[0, 2, 1, 3]);\n"
                            "  %1 = nn.matmul(%0, transpose(%x, axes=[0, 2, 3, 1]), units=None);\n"
                            "  %2 = nn.matmul(nn.softmax(%1, axis=3), %0, units=None);\n"
                            "  transpose(%2, axes=[0, 2, 1, 3])\n}}",
                            width),
                toolchain);
    EXPECT_EQ(composites_of(outcome), Names{"cutlass.attention_transposed"});
    EXPECT_TRUE(toolchain.sources.contains(
        fmt::format("tessera_attention_bfloat16_{}_SelfLoading", kernel)))
        << toolchain.sources.rbegin()->first;
    const std::string& text = toolchain.sources.at("cutlass_regions");
    for (const std::string& line :
         {fmt::format("a.width = {};", width),
          fmt::format("a.q = {{data(tensors[0]), {}, {}, {}}};", 384 * width, width, 4 * width),
          fmt::format("a.o = {{data(tensors[1]), {}, {}, {}}};", 384 * width, width, 4 * width)}) {
      EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
    }
  }
}

}  // namespace
}  // namespace tessera::backends
