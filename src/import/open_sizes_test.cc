// SPDX-License-Identifier: Apache-2.0
// Operators whose kernels count on sizes, where the model leaves these open: the results' types in
// terms of the symbols, and what is refused.
#include <cctype>

#include <gtest/gtest.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

// An input of open sizes: each dimension a number or a symbol.
void open_input(TestModel& m, const std::string& name, const std::vector<std::string>& dims) {
  m.input(name, std::vector<std::int64_t>(dims.size(), 0));
  auto& inputs = *m.proto.mutable_graph()->mutable_input();
  auto& shape = *inputs[inputs.size() - 1].mutable_type()->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < static_cast<int>(dims.size()); ++i) {
    const std::string& d = dims[static_cast<std::size_t>(i)];
    if (std::isdigit(static_cast<unsigned char>(d[0])) != 0) {
      shape.mutable_dim(i)->set_dim_value(std::stoll(d));
    } else {
      shape.mutable_dim(i)->set_dim_param(d);
    }
  }
}

// The type of the model's only output, y.
std::string result_type(TestModel& m) {
  m.output("y");
  const auto module = m.import();
  if (!module) return render(module.error());
  const relay::Function& main = module->functions.at("main");
  return to_string(main.type(main.result()));
}

TestModel image_model(int opset = 17) {
  TestModel m(opset);
  open_input(m, "x", {"n", "4", "h", "w"});
  return m;
}

onnx::NodeProto* resize(TestModel& m, const std::vector<float>& scales) {
  m.floats("scales", {static_cast<std::int64_t>(scales.size())}, scales);
  return m.node("Resize", {"x", "", "scales"}, {"y"}, "resize");
}

TEST(OpenSizes, ResizeByWholeScales) {
  TestModel m = image_model();
  resize(m, {1, 1, 2, 3});
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?(2*h), ?(3*w)), float32]");
}

TEST(OpenSizes, ResizeByFractions) {
  TestModel m = image_model();
  set_string(resize(m, {1, 1, 0.5, 1.5}), "mode", "linear");
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?(floordiv(h, 2)), ?(w+floordiv(w, 2))), float32]");
}

TEST(OpenSizes, ResizeOfOpset10) {
  TestModel m = image_model(10);
  m.floats("scales", {4}, {1, 1, 2, 2});
  m.node("Resize", {"x", "scales"}, {"y"});
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?(2*h), ?(2*w)), float32]");
}

// To the size of another tensor, as exporters of segmentation models write it.
TEST(OpenSizes, ResizeToSizesOfAnotherTensor) {
  TestModel m = image_model();
  open_input(m, "like", {"rows", "columns"});
  for (const char* x : {"x", "like"}) m.node("Shape", {x}, {std::string(x) + "_sizes"});
  m.ints("zero", {0});
  m.ints("two", {2});
  m.node("Slice", {"x_sizes", "zero", "two"}, {"kept"});
  set_int(m.node("Concat", {"kept", "like_sizes"}, {"sizes"}), "axis", 0);
  set_string(m.node("Resize", {"x", "", "", "sizes"}, {"y"}), "mode", "cubic");
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?rows, ?columns), float32]");
}

// The size that a convolution of stride 8 leaves, as torch computes it.
TEST(OpenSizes, ResizeToAQuotientOfALessenedSize) {
  TestModel m;
  open_input(m, "x", {"1", "1", "h", "8"});
  m.node("Shape", {"x"}, {"all"});
  m.ints("less", {0, 0, 1, 0});
  m.ints("by", {1, 1, 8, 1});
  m.node("Sub", {"all", "less"}, {"lessened"});
  m.node("Div", {"lessened", "by"}, {"sizes"});
  m.node("Resize", {"x", "", "", "sizes"}, {"y"});
  EXPECT_EQ(result_type(m), "Tensor[(1, 1, ?(floordiv(max(0, h-1), 8)), 8), float32]");
}

TEST(OpenSizes, RoiAlignOfNoRegions) {
  TestModel m;
  m.input("x", {2, 3, 8, 8});
  open_input(m, "rois", {"regions"});
  open_input(m, "images", {"regions"});
  set_int(m.node("RoiAlign", {"x", "rois", "images"}, {"y"}, "roi"), "sampling_ratio", 2);
  m.output("y");
  expect_refused(m.import(), {{Code::kShapeMismatch, "roi", "regions of 2"}});
}

TEST(OpenSizes, ResizeWithoutASize) {
  TestModel m = image_model(18);
  m.ints("sizes", {6, 6});
  auto* n = m.node("Resize", {"x", "", "", "sizes"}, {"y"}, "resize");
  set_ints(n, "axes", {2, 3});
  set_string(n, "keep_aspect_ratio_policy", "not_larger");
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "resize", "not_larger"}});
}

TEST(OpenSizes, ResizeByAScaleThatIsNoShortFraction) {
  TestModel m = image_model();
  resize(m, {1, 1, 1e-9F, 1});
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "resize", "open size"}});
}

// ConvTranspose with a weight for 4 channels and the kernel [3, 3].
onnx::NodeProto* conv_transpose(TestModel& m, std::int64_t outputs = 2) {
  m.floats("w", {4, outputs, 3, 3}, std::vector<float>(static_cast<std::size_t>(outputs) * 36, 1));
  return m.node("ConvTranspose", {"x", "w"}, {"y"}, "conv");
}

TEST(OpenSizes, ConvTranspose) {
  TestModel m = image_model();
  auto* n = conv_transpose(m);
  set_ints(n, "strides", {2, 1});
  set_ints(n, "pads", {1, 0, 1, 0});
  set_ints(n, "output_padding", {1, 0});
  set_int(n, "group", 2);
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?(2*h), ?(w+2)), float32]");
}

TEST(OpenSizes, ConvTransposeOfTheSameSize) {
  for (const char* same : {"SAME_UPPER", "SAME_LOWER"}) {
    TestModel m = image_model();
    auto* n = conv_transpose(m);
    set_ints(n, "strides", {2, 1});
    set_string(n, "auto_pad", same);
    EXPECT_EQ(result_type(m), "Tensor[(?n, 2, ?(2*h), ?w), float32]") << same;
  }
}

TEST(OpenSizes, ConvTransposeToAnOutputShape) {
  TestModel m = image_model();
  set_ints(conv_transpose(m), "output_shape", {9, 9});
  m.output("y");
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "conv", "output_shape"}});
}

TEST(OpenSizes, GroupNormalization) {
  for (const int opset : {18, 21}) {
    TestModel m = image_model(opset);
    const std::int64_t params = opset == 18 ? 2 : 4;
    for (const char* p : {"scale", "bias"}) {
      m.floats(p, {params}, std::vector<float>(static_cast<std::size_t>(params), 1));
    }
    set_int(m.node("GroupNormalization", {"x", "scale", "bias"}, {"y"}), "num_groups", 2);
    EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?h, ?w), float32]") << opset;
  }
}

TEST(OpenSizes, Stft) {
  TestModel m;
  open_input(m, "x", {"n", "samples", "1"});
  m.floats("window", {16}, std::vector<float>(16, 1));
  auto* step = m.ints("step", {4});
  step->clear_dims();
  m.node("STFT", {"x", "step", "window"}, {"y"});
  EXPECT_EQ(result_type(m), "Tensor[(?n, ?(max(0, floordiv(samples, 4)-3)), 9, 2), float32]");
}

TEST(OpenSizes, RoiAlign) {
  for (const char* mode : {"avg", "max"}) {
    TestModel m;
    m.input("x", {2, 3, 8, 8});
    open_input(m, "rois", {"regions", "4"});
    m.node("Shape", {"rois"}, {"sizes"});
    m.ints("zero", {0});
    m.ints("one", {1});
    m.node("Slice", {"sizes", "zero", "one"}, {"count"});
    m.node("ConstantOfShape", {"count"}, {"zeros"});
    set_int(m.node("Cast", {"zeros"}, {"images"}), "to", onnx::TensorProto::INT64);
    auto* n = m.node("RoiAlign", {"x", "rois", "images"}, {"y"});
    set_int(n, "output_height", 2);
    set_int(n, "output_width", 3);
    set_int(n, "sampling_ratio", 2);
    set_string(n, "mode", mode);
    EXPECT_EQ(result_type(m), "Tensor[(?regions, 3, 2, 3), float32]") << mode;
  }
}

TEST(OpenSizes, GridSample) {
  TestModel m = image_model();
  m.proto.mutable_graph()->clear_input();
  open_input(m, "x", {"n", "4", "5", "6"});
  open_input(m, "grid", {"n", "rows", "columns", "2"});
  m.node("GridSample", {"x", "grid"}, {"y"});
  EXPECT_EQ(result_type(m), "Tensor[(?n, 4, ?rows, ?columns), float32]");
}

}  // namespace
}  // namespace tessera::import
