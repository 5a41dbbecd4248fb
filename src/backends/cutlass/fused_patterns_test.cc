// SPDX-License-Identifier: Apache-2.0
// What `compile` merges after a product: all that Relay's table merges, and every combination of
// the parts that there may be; each operator once.
#include "backends/cutlass/fused_patterns.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "backends/cutlass/patterns.h"
#include "backends/cutlass/testing/models.h"

namespace tessera::backends {
namespace {

using cutlass::testing::compile;
using cutlass::testing::composites_of;
using cutlass::testing::parse;
using cutlass::testing::RecordingToolchain;
using Names = std::vector<std::string>;

// A function that is written line by line: a product, and what follows it.
class Model {
 public:
  enum class Kind : std::uint8_t { kDense, kBatch, kConvolution };
  Model(Kind kind, std::string dtype) : kind_(kind), dtype_(std::move(dtype)) {
    static constexpr const char* kProducts[] = {
        "nn.dense(%x, %w, units=None)", "nn.batch_matmul(%x, %w, transpose_b=True)",
        "nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\")"};
    step(kProducts[static_cast<int>(kind)]);
  }

  // `text` has the latest value as `$`, and a number as `#1`.
  Model& step(std::string text) {
    for (std::size_t at; (at = text.find('$')) != std::string::npos;) text.replace(at, 1, last());
    const std::string suffix = dtype_ == "float16" ? "f16" : "f";
    for (std::size_t at; (at = text.find('#')) != std::string::npos;) {
      text.erase(at, 1);
      text.insert(text.find_first_not_of("0123456789.", at), suffix);
    }
    operators_ += std::count(text.begin(), text.end(), '(');
    body_ += fmt::format("  %{} = {};\n", lines_++, text);
    return *this;
  }

  std::string text() const {
    static constexpr const char* kShapes[][3] = {{"64, 32", "64, 32", "64, 64"},
                                                 {"3, 64, 32", "3, 64, 32", "3, 64, 64"},
                                                 {"2, 8, 8, 32", "64, 3, 3, 32", "2, 8, 8, 64"}};
    const auto& [x, w, y] = kShapes[static_cast<int>(kind_)];
    return fmt::format(
        "def @main(%x: Tensor[({}), {}], %w: Tensor[({}), {}], %b: Tensor[(64), {}],\n"
        "          %r: Tensor[({}), {}]) {{\n{}  {}\n}}",
        x, dtype_, w, dtype_, dtype_, y, dtype_, body_, last());
  }
  std::size_t operators() const { return static_cast<std::size_t>(operators_); }
  const std::string& dtype() const { return dtype_; }

 private:
  std::string last() const { return fmt::format("%{}", lines_ - 1); }

  Kind kind_;
  std::string dtype_, body_;
  int lines_ = 0;
  std::ptrdiff_t operators_ = 0;
};

void activate(Model& m, const std::string& name) {
  if (name == "relu") m.step("nn.relu($)");
  if (name == "leaky") m.step("nn.leaky_relu($, alpha=0.1f)");
  if (name == "sigmoid") m.step("sigmoid($)");
  if (name == "silu") m.step("multiply($, sigmoid($))");
  if (name == "hardswish") {
    m.step("multiply($, divide(clip(add($, #3), a_min=0f, a_max=6f), #6))");
  }
  if (name != "gelu") return;
  const std::string erf = m.dtype() == "float16"
                              ? "cast(erf(cast(multiply($, #0.7), dtype=\"float32\")), "
                                "dtype=\"float16\")"
                              : "erf(multiply($, #0.7))";
  m.step("multiply(add(multiply(" + erf + ", #0.5), #0.5), $)");
}

// The graph that an entry of Relay's table stands for, from its name:
// conv2d_bias_silu_residual_add. Where there is a choice, `other` takes the second: bias_add, and
// the product on the right.
Model model_of(const std::string& name, bool other) {
  std::istringstream words(name.substr(name.find('.') + 1));
  std::string word;
  std::getline(words, word, '_');
  const Model::Kind kind = word == "dense"   ? Model::Kind::kDense
                           : word == "batch" ? Model::Kind::kBatch
                                             : Model::Kind::kConvolution;
  Model model(kind, name.ends_with("fp32") ? "float32" : "float16");
  while (std::getline(words, word, '_')) {
    if (word == "bias") model.step(other ? "nn.bias_add($, %b, axis=-1)" : "add($, %b)");
    if (word == "add" || word == "multiply") model.step(word + (other ? "(%r, $)" : "($, %r)"));
    activate(model, word);
  }
  return model;
}

// Is everything in one region and one composite, and nothing twice?
void expect_one_region(const Model& model) {
  RecordingToolchain toolchain;
  const auto outcome = compile(model.text(), toolchain);
  ASSERT_EQ(outcome.regions.size(), 1u) << model.text();
  EXPECT_EQ(outcome.regions[0].composites.size(), 1u) << model.text();
  EXPECT_EQ(outcome.regions[0].operators.size(), model.operators()) << model.text();
}

TEST(CutlassFusedPatterns, WhatRelaysTableMergesWholeIsMergedWhole) {
  int count = 0;
  for (const auto& entry : cutlass::patterns()) {
    // Other kinds of convolution are native.
    if (entry.name.find("transpose") != std::string::npos) continue;
    if (entry.name.find("backward") != std::string::npos) continue;
    ++count;
    for (const bool other : {false, true}) {
      SCOPED_TRACE(entry.name);
      const Model model = model_of(entry.name, other);
      const Module module = parse(model.text());
      const relay::Function& f = module.functions.at("main");
      const auto match = relay::match(f, entry.pattern, f.result(), &module.constants);
      ASSERT_TRUE(match) << model.text();
      // It finds its convolution in first operands only.
      const bool is_refused = entry.check(*match, Target("cutlass")).has_value();
      EXPECT_EQ(is_refused, other && entry.name.find("residual") != std::string::npos);
      const auto is_call = [&](relay::NodeId id) { return f.op(id) != nullptr; };
      EXPECT_EQ(std::count_if(match->inside.begin(), match->inside.end(), is_call),
                static_cast<std::ptrdiff_t>(model.operators()));
      expect_one_region(model);
    }
  }
  EXPECT_EQ(count, 32);
}

TEST(CutlassFusedPatterns, EveryCombinationOfPartsIsOneRegion) {
  for (const auto kind : {Model::Kind::kDense, Model::Kind::kBatch, Model::Kind::kConvolution}) {
    for (int bits = 0; bits < 8; ++bits) {
      for (const char* join : {"", "add($, %r)", "add(%r, $)", "multiply($, %r)"}) {
        for (const char* last : {"", "relu", "hardswish"}) {
          if (*join == '\0' && *last != '\0') continue;
          Model model(kind, "float16");
          if ((bits & 1) != 0) model.step("multiply($, #0.5)");
          if ((bits & 2) != 0) model.step("add($, %b)");
          if ((bits & 4) != 0) activate(model, "leaky");
          if (*join != '\0') model.step(join);
          activate(model, last);
          expect_one_region(model);
        }
      }
    }
  }
}

TEST(CutlassFusedPatterns, ActivationsInEveryPlace) {
  for (const char* name : {"relu", "leaky", "sigmoid", "silu", "hardswish", "gelu"}) {
    Model first(Model::Kind::kDense, "float16"), last = first, alone = first;
    activate(first.step("add($, %b)"), name);
    expect_one_region(first.step("multiply(%r, $)"));
    activate(last.step("add($, %b)").step("add($, %r)"), name);
    expect_one_region(last);
    activate(alone, name);
    expect_one_region(alone);
  }
  for (const char* swish :
       {"multiply($, multiply(clip(add($, #3), a_min=0f, a_max=6f), #0.1667))",
        "divide(multiply($, clip(add(#3, $), a_min=0f, a_max=6f)), #6)",
        "multiply(multiply($, clip(add($, #3), a_min=0f, a_max=6f)), #0.1667)"}) {
    expect_one_region(Model(Model::Kind::kConvolution, "float16").step("add($, %b)").step(swish));
  }
}

// As fold-layer-norm leaves the products around a norm: after one the norm's rows are added, which
// are not there; the other one reads them.
constexpr const char* kAroundANorm = R"(
def @main(%x: Tensor[(2, 32, 64), float16], %h: Tensor[(2, 32, 128), float16],
          %w: Tensor[(64, 128), float16], %v: Tensor[(128, 64), float16],
          %b: Tensor[(64), float16], %c: Tensor[(128), float32], %gamma: Tensor[(64), float32],
          %beta: Tensor[(64), float32]) {
  %0 = nn.layer_norm_factors(%x);
  %1 = nn.matmul(%x, %w, units=None, out_dtype="float32");
  %2 = nn.gelu(cast(add(multiply(%1, %0.0), %c), dtype="float16"));
  %3 = add(nn.matmul(%2, %v, units=None), %b);
  %4 = add(multiply(cast(%x, dtype="float32"), %0.0), %0.1);
  add(%3, cast(add(multiply(%4, %gamma), %beta), dtype="float16"))
})";

TEST(CutlassFusedPatterns, AFoldedNormIsInTheProductsAroundIt) {
  RecordingToolchain toolchain;
  EXPECT_EQ(composites_of(compile(kAroundANorm, toolchain)),
            (Names{"cutlass.product_of_norm_activation", "cutlass.product_bias_residual"}));
  std::string sources;
  for (const auto& [name, source] : toolchain.sources) sources += source;
  for (const char* inputs :
       {"InputList<Column<float>, Row<float>>;",
        "InputList<Row<::cutlass::half_t>, Full<::cutlass::half_t>, Column<float>, Column<float>, "
        "Row<float>, Row<float>>;"}) {
    EXPECT_NE(sources.find(inputs), std::string::npos) << inputs << sources;
  }
}

TEST(CutlassFusedPatterns, NormsAreNotFoldedWhereTheTargetSaysSo) {
  RecordingToolchain toolchain;
  const Names names =
      composites_of(compile(kAroundANorm, toolchain, Target("cutlass").with("fold_norms", false)));
  EXPECT_EQ(names[0].find("product_of_norm"), std::string::npos) << names[0];
}

TEST(CutlassFusedPatterns, NumbersOfActivationsAreInTheText) {
  const auto text_of = [](const char* activation) {
    RecordingToolchain toolchain;
    Model model(Model::Kind::kDense, "float16");
    compile(model.step("add($, %b)").step(activation).text(), toolchain);
    return toolchain.sources.rbegin()->second;
  };
  const std::string slope = text_of("nn.leaky_relu($, alpha=0.1f)");
  EXPECT_NE(slope.find("const float v1 = v0 < 0.f ? 0.1f * v0 : v0;"), std::string::npos) << slope;
  const std::string open = text_of("clip($, a_min=0f, a_max=inff)");
  EXPECT_NE(open.find("const float v1 = clip(v0, 0.f, INFINITY);"), std::string::npos) << open;
}

// Two convolutions that one sum could be taken into, written in either order.
std::string two_convolutions(const std::string& sum) {
  return R"(
def @main(%x: Tensor[(2, 8, 8, 64), float16], %w: Tensor[(64, 3, 3, 64), float16],
          %b: Tensor[(64), float16]) {
  %0 = add(nn.conv2d(%x, %w, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="OHWI"), %b);
)" + sum +
         "\n}";
}
std::string convolution_of(const std::string& image) {
  return "  %1 = add(nn.conv2d(" + image +
         ", %w, padding=[1, 1, 1, 1], data_layout=\"NHWC\", kernel_layout=\"OHWI\"), %b);\n";
}

Names composites(const std::string& text) {
  RecordingToolchain toolchain;
  const auto outcome = compile(text, toolchain);
  std::ptrdiff_t convolutions = 0;
  for (const auto& region : outcome.regions) {
    convolutions += std::count(region.operators.begin(), region.operators.end(), "nn.conv2d");
  }
  EXPECT_EQ(convolutions, 2) << text;  // as many as there are
  return composites_of(outcome);
}

TEST(CutlassFusedPatterns, ASumGoesToTheProductThatNothingElseReads) {
  const Names wanted = {"cutlass.conv2d_bias", "cutlass.conv2d_bias_residual"};
  for (const char* sum : {"  add(%0, %1)", "  add(%1, %0)"}) {
    EXPECT_EQ(composites(two_convolutions(convolution_of("%0") + sum)), wanted) << sum;
  }
}

TEST(CutlassFusedPatterns, ASumGoesToWhereMoreIsMerged) {
  for (const char* sum : {"  add(%0, nn.leaky_relu(%1))", "  add(nn.leaky_relu(%1), %0)"}) {
    EXPECT_EQ(composites(two_convolutions(convolution_of("%x") + sum)),
              (Names{"cutlass.conv2d_bias", "cutlass.conv2d_bias_activation_residual"}))
        << sum;
  }
  EXPECT_EQ(composites(two_convolutions(convolution_of("%x") + "  nn.relu(add(%0, %1))")),
            (Names{"cutlass.conv2d_bias", "cutlass.conv2d_bias_residual_activation"}));
}

// A factor that is made of the product's own result follows it.
TEST(CutlassFusedPatterns, AFactorMadeOfTheResultIsNotMerged) {
  RecordingToolchain toolchain;
  const auto outcome =
      compile(Model(Model::Kind::kConvolution, "float16")
                  .step("add($, %b)")
                  .step("multiply($, sigmoid(mean($, axis=[1, 2], keepdims=True)))")
                  .text(),
              toolchain);
  EXPECT_EQ(composites_of(outcome), Names{"cutlass.conv2d_bias"});
}

}  // namespace
}  // namespace tessera::backends
