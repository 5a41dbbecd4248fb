// SPDX-License-Identifier: Apache-2.0
// What attention, rotary embeddings and caches become; the numbers are checked by tests/onnx_gate.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"
#include "relay/operator.h"

namespace tessera::import {
namespace {

constexpr int kFloat = onnx::TensorProto::FLOAT, kInts = onnx::TensorProto::INT64;

std::vector<std::string> calls_of(const TestModel& m) {
  const auto module = m.import();
  if (!module) throw std::runtime_error(render(module.error()));
  const relay::Function& main = module->functions.at("main");
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < main.num_nodes(); ++i) {
    if (const auto* op = main.op(relay::NodeId(i))) names.emplace_back(op->name);
  }
  return names;
}

// Symbols for the sizes of an input that are 0.
void open(TestModel& m, int input, const std::vector<std::string>& names) {
  auto* type = m.proto.mutable_graph()->mutable_input(input)->mutable_type();
  auto* shape = type->mutable_tensor_type()->mutable_shape();
  for (int i = 0; i < shape->dim_size(); ++i) {
    if (shape->dim(i).dim_value() == 0) shape->mutable_dim(i)->set_dim_param(names[i]);
  }
}

TestModel attention_model(std::int64_t heads, std::int64_t shared, int opset = 23) {
  TestModel m(opset);
  m.input("q", {2, heads, 5, 8});
  m.input("k", {2, shared, 7, 8});
  m.input("v", {2, shared, 7, 8});
  m.output("y");
  return m;
}

using Names = std::vector<std::string>;

// The form in which fused kernels are found.
TEST(Attention, IsASoftmaxBetweenTwoProducts) {
  TestModel m = attention_model(4, 4);
  m.node("Attention", {"q", "k", "v"}, {"y"});
  EXPECT_EQ(calls_of(m), (Names{"multiply", "nn.matmul", "nn.softmax", "nn.matmul"}));
  TestModel masked = attention_model(4, 4);
  masked.input("mask", {5, 7}, onnx::TensorProto::BOOL);
  masked.node("Attention", {"q", "k", "v", "mask"}, {"y"});
  EXPECT_EQ(calls_of(masked),
            (Names{"multiply", "nn.matmul", "where", "nn.softmax", "isnan", "where", "nn.matmul"}));
}

// What is causal has a key for each query: no row is guarded.
TEST(Attention, ACausalMaskIsAConstant) {
  TestModel m = attention_model(4, 4);
  set_int(m.node("Attention", {"q", "k", "v"}, {"y"}), "is_causal", 1);
  EXPECT_EQ(calls_of(m), (Names{"multiply", "nn.matmul", "where", "nn.softmax", "nn.matmul"}));
}

TEST(Attention, SharedKeysAreNotRepeated) {
  TestModel m = attention_model(4, 2);
  m.node("Attention", {"q", "k", "v"}, {"y"});
  EXPECT_EQ(calls_of(m), (Names{"multiply", "reshape", "reshape", "nn.matmul", "reshape",
                                "nn.softmax", "reshape", "reshape", "nn.matmul", "reshape"}));
}

TEST(Attention, SharedKeysAreRepeatedForManyRows) {
  TestModel m(23);
  m.input("q", {2, 4, 64, 8});
  for (const char* name : {"k", "v"}) m.input(name, {2, 2, 7, 8});
  m.node("Attention", {"q", "k", "v"}, {"y"});
  m.output("y");
  EXPECT_EQ(calls_of(m),
            (Names{"repeat", "repeat", "multiply", "nn.matmul", "nn.softmax", "nn.matmul"}));
}

TEST(Attention, AllSizesMayBeOpen) {
  TestModel m(24);
  m.input("q", {0, 0, 32});
  m.input("k", {0, 0, 16});
  m.input("v", {0, 0, 16});
  m.input("mask", {0, 1, 0, 0});
  m.input("past_k", {0, 2, 0, 8});
  m.input("past_v", {0, 2, 0, 8});
  for (int i = 0; i < 3; ++i) open(m, i, {"batch", "seq", ""});
  open(m, 3, {"batch", "", "seq", "all"});
  for (int i = 4; i < 6; ++i) open(m, i, {"batch", "", "past", ""});
  auto* n = m.node("Attention", {"q", "k", "v", "mask", "past_k", "past_v"}, {"y", "pk", "pv"});
  set_int(n, "q_num_heads", 4);
  set_int(n, "kv_num_heads", 2);
  set_int(n, "is_causal", 1);
  for (const char* name : {"y", "pk", "pv"}) m.output(name);
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())),
            "(Tensor[(?batch, ?seq, 32), float32], Tensor[(?batch, 2, ?(past+seq), 8), float32], "
            "Tensor[(?batch, 2, ?(past+seq), 8), float32])");
}

TEST(Attention, WhatItRefuses) {
  const auto refused = [](TestModel m, Code code, const std::string& finding,
                          const std::vector<std::pair<const char*, std::int64_t>>& attributes,
                          const Names& inputs = {"q", "k", "v"}) {
    auto* n = m.node("Attention", inputs, {"y"}, "node");
    for (const auto& [name, value] : attributes) set_int(n, name, value);
    expect_refused(m.import(), {{code, "node", finding}});
  };
  refused(attention_model(4, 3), Code::kShapeMismatch, "4 heads of queries do not fit 3", {});
  refused(attention_model(4, 4), Code::kWrongAttribute, "its qk_matmul_output_mode is 4",
          {{"qk_matmul_output_mode", 4}});
  refused(attention_model(4, 4), Code::kWrongAttribute, "its softmax_precision is int64",
          {{"softmax_precision", kInts}});
  refused(attention_model(4, 4, 25), Code::kWrongAttribute, "-2 keys before a query",
          {{"left_window_size", -2}});
  TestModel one_cache = attention_model(4, 4);
  one_cache.input("past", {2, 4, 3, 8});
  refused(std::move(one_cache), Code::kWrongArity, "both caches or none", {},
          {"q", "k", "v", "", "past"});
  TestModel rows(23);
  for (const char* name : {"q", "k", "v"}) rows.input(name, {2, 5, 8}, kFloat);
  rows.output("y");
  refused(std::move(rows), Code::kShapeMismatch, "0 equal parts", {});
}

// ---- onnxruntime's ----

constexpr int kInt32s = onnx::TensorProto::INT32;

onnx::NodeProto* contrib_node(TestModel& m, const std::string& op, const Names& inputs,
                              const Names& outputs) {
  auto* n = m.node(op, inputs, outputs, "node");
  n->set_domain("com.microsoft");
  for (const std::string& name : outputs) m.output(name);
  return n;
}

// A cache of which a step uses the part that the mask counts.
TestModel grouped_model() {
  TestModel m;
  m.input("qkv", {0, 0, 8 * 8});
  open(m, 0, {"batch", "seq", ""});
  for (const char* cache : {"k", "v"}) m.input(cache, {0, 2, 32, 8});
  for (int i = 1; i < 3; ++i) open(m, i, {"batch", "", "", ""});
  m.input("mask", {0, 0}, kInts);
  open(m, 3, {"batch", "all"});
  m.input("last", {0}, kInt32s);
  open(m, 4, {"batch"});
  m.ints("one", {1});
  m.node("Shape", {"mask"}, {"sizes"});
  m.node("Gather", {"sizes", "one"}, {"total_int64"});
  set_int(m.node("Cast", {"total_int64"}, {"total"}), "to", kInt32s);
  auto* n = contrib_node(m, "GroupQueryAttention", {"qkv", "", "", "k", "v", "last", "total"},
                         {"y", "pk", "pv"});
  set_int(n, "num_heads", 4);
  set_int(n, "kv_num_heads", 2);
  return m;
}

TEST(GroupQueryAttention, ACacheIsAsLongAsTheLongestSequence) {
  const auto module = grouped_model().import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result()).fields()[1]),
            "Tensor[(?batch, 2, ?(max(32, all)), 8), float32]");
  ImportOptions options;
  options.ranges["all"] = {"all", 1, 32, 1, std::nullopt};
  const auto bounded = grouped_model().import(options);
  ASSERT_TRUE(bounded) << render(bounded.error());
  const relay::Function& in_place = bounded->functions.at("main");
  EXPECT_EQ(to_string(in_place.type(in_place.result()).fields()[1]),
            "Tensor[(?batch, 2, 32, 8), float32]");
}

TEST(GroupQueryAttention, WhatItRefuses) {
  for (const auto& [name, value, finding] :
       {std::tuple{"kv_cache_bit_width", 8, "a cache of quantised values"},
        std::tuple{"sliding_window_cache", 1, "a cache of the window alone"},
        std::tuple{"qk_output", 1, "the output of scores"},
        std::tuple{"causal", 0, "attention to later tokens"}}) {
    TestModel m = grouped_model();
    set_int(m.proto.mutable_graph()->mutable_node(3), name, value);
    expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "node", finding}});
  }
  TestModel window = grouped_model();
  set_int(window.proto.mutable_graph()->mutable_node(3), "local_window_size", 0);
  expect_refused(window.import(), {{Code::kWrongAttribute, "node", "local_window_size is 0"}});
}

TEST(MultiHeadAttention, WhatItRefuses) {
  const auto model = [](const Names& inputs) {
    TestModel m;
    m.input("q", {2, 3, 8});
    m.input("k", {2, 5, 8});
    m.input("v", {2, 5, 8});
    m.input("bias", {12});
    m.input("places", {8}, kInt32s);
    set_int(contrib_node(m, "MultiHeadAttention", inputs, {"y"}), "num_heads", 2);
    return m;
  };
  EXPECT_TRUE(model({"q", "k", "v"}).import());
  expect_refused(model({"q", "k", "v", "bias"}).import(),
                 {{Code::kShapeMismatch, "node", "its bias has not an element"}});
  expect_refused(model({"q", "k", "v", "", "places"}).import(),
                 {{Code::kUnsupportedOnnxNode, "node", "no length for each sequence"}});
  TestModel m = model({"q", "k", "v"});
  set_int(m.proto.mutable_graph()->mutable_node(0), "unidirectional", 1);
  expect_refused(m.import(), {{Code::kUnsupportedOnnxNode, "node", "unidirectional = 1"}});
}

TEST(RotaryEmbedding, AnglesFitTheHeads) {
  const auto model = [](std::int64_t pairs) {
    TestModel m(23);
    m.input("x", {1, 2, 3, 8});
    for (const char* table : {"cos", "sin"}) m.input(table, {16, pairs});
    m.input("at", {1, 3}, kInts);
    m.output("y");
    return m;
  };
  TestModel whole = model(4);
  whole.node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"}, "node");
  EXPECT_TRUE(whole.import());
  TestModel part = model(3);
  part.node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"}, "node");
  expect_refused(part.import(), {{Code::kShapeMismatch, "node", "angles for 3 pairs of heads"}});
  TestModel other = model(4);
  set_int(other.node("RotaryEmbedding", {"x", "cos", "sin", "at"}, {"y"}, "node"),
          "rotary_embedding_dim", 6);
  expect_refused(other.import(), {{Code::kShapeMismatch, "node", "rotary_embedding_dim is 6"}});
}

TEST(TensorScatter, WritesBehindTheEndEndTheRun) {
  TestModel m(24);
  m.input("cache", {2, 8, 3});
  m.input("update", {2, 2, 3});
  m.input("at", {2}, kInts);
  m.node("TensorScatter", {"cache", "update", "at"}, {"y"}, "node");
  m.output("y");
  const Names names = calls_of(m);
  EXPECT_EQ(std::count(names.begin(), names.end(), "check_indices"), 1);
  TestModel batch(24);
  batch.input("cache", {2, 8});
  batch.input("update", {2, 2});
  batch.node("TensorScatter", {"cache", "update"}, {"y"}, "node");
  batch.output("y");
  expect_refused(batch.import(), {{Code::kShapeMismatch, "node", "in dimension 0"}});
}

}  // namespace
}  // namespace tessera::import
