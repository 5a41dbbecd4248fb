// SPDX-License-Identifier: Apache-2.0
#include "runtime/json_graph.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

constexpr const char* kDense = R"({
  "nodes": [
    {"op": "input", "name": "x", "attrs": {"dtype": [["float32"]], "shape": [[[2, 3]]]}},
    {"op": "const", "name": "f_const_0", "attrs": {"dtype": [["float32"]], "shape": [[[4, 3]]]}},
    {"op": "kernel", "name": "nn.dense", "inputs": [[0, 0, 0], [1, 0, 0]],
     "attrs": {"num_inputs": "2", "num_outputs": "1", "units": [["4"]], "axes": [["1", "-2"]],
               "flag": "1", "shape": [[[2, 4]]], "dtype": [["float32"]]}}
  ],
  "arg_nodes": [0, 1], "heads": [[2, 0, 0]], "node_row_ptr": [0, 1, 2, 3]})";

std::optional<std::int64_t> int_of(const JsonGraph& graph, const JsonNode& node,
                                   std::string_view name, std::int64_t otherwise,
                                   std::uint32_t i = 0) {
  std::int64_t value = otherwise;
  return graph.attr_int(node, name, &value, i) ? std::optional(value) : std::nullopt;
}

std::string error_of(const std::string& text) {
  JsonGraph graph;
  return graph.parse(text) ? "" : graph.error();
}

TEST(JsonGraph, ReadsNodesEntriesAndAttributes) {
  JsonGraph graph;
  ASSERT_TRUE(graph.parse(kDense)) << graph.error();
  ASSERT_EQ(graph.nodes().size(), 3u);
  EXPECT_EQ(graph.nodes()[1].op, JsonOp::kConst);
  EXPECT_EQ(graph.nodes()[1].name, "f_const_0");
  const JsonNode& dense = graph.nodes()[2];
  ASSERT_EQ(dense.input_count, 2u);
  EXPECT_EQ(dense.inputs[1].node, 1u);
  EXPECT_EQ(int_of(graph, dense, "units", -1), 4);
  EXPECT_EQ(graph.attr_size(dense, "axes"), 2u);
  EXPECT_EQ(int_of(graph, dense, "axes", 0, 1), -2);
  EXPECT_EQ(int_of(graph, dense, "flag", 0), 1);
  EXPECT_EQ(int_of(graph, dense, "absent", 7), 7);
  EXPECT_EQ(graph.dtype(dense, 0), "float32");
  std::int64_t dims[4];
  ASSERT_EQ(graph.shape(dense, 0, dims, 4), 2);
  EXPECT_EQ(dims[1], 4);
  EXPECT_EQ(graph.entry_id(graph.heads()[0]), 2u);
}

TEST(JsonGraph, ASizeWithoutAValueIsNoNumber) {
  JsonGraph graph;
  ASSERT_TRUE(graph.parse(R"json({"nodes": [
    {"op": "input", "name": "x",
     "attrs": {"strides": [["64*past+64*seq", "8*seq", "seq*seq*seq*seq", "floordiv(seq, past)",
                            "wide"]], "shape": [[[2, "past+seq"]]]}}],
    "node_row_ptr": [0, 1]})json"))
      << graph.error();
  const JsonNode& x = graph.nodes()[0];
  std::int64_t dims[4];
  ASSERT_TRUE(graph.set_size("past+seq", 5));
  ASSERT_TRUE(graph.set_size("seq", 1'000'000));
  EXPECT_EQ(graph.shape(x, 0, dims, 4), 2);
  EXPECT_EQ(int_of(graph, x, "strides", 7), std::nullopt) << "`past` has no value";
  EXPECT_EQ(int_of(graph, x, "strides", 7, 1), 8'000'000);
  EXPECT_EQ(int_of(graph, x, "strides", 7, 2), std::nullopt) << "it overflows";
  EXPECT_EQ(int_of(graph, x, "strides", 7, 4), std::nullopt);
  ASSERT_TRUE(graph.set_size("past", 0));
  EXPECT_EQ(int_of(graph, x, "strides", 7), 64'000'000);
  EXPECT_EQ(int_of(graph, x, "strides", 7, 3), std::nullopt) << "it divides by zero";
}

TEST(JsonGraph, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(error_of(R"({"nodes": [], "node_row_ptr": [0], "extra": []})"),
            "JSON graph: unknown key `extra`");
  EXPECT_EQ(error_of(R"({"nodes": [{"op": "input", "colour": "red"}]})"),
            "JSON graph: unknown key `colour` of a node");
  EXPECT_EQ(error_of(R"({"nodes": [{"op": "matmul"}]})"),
            "JSON graph: a node's op is not input, const or kernel");
}

TEST(JsonGraph, ChecksIndices) {
  const std::string node = R"({"op": "kernel", "name": "f", "inputs": [[0, 0, 0]]})";
  EXPECT_EQ(error_of(R"({"nodes": [)" + node + R"(], "node_row_ptr": [0, 1]})"),
            "JSON graph: a node's input does not exist before it");
  EXPECT_EQ(error_of(R"({"nodes": [], "heads": [[0, 0, 0]], "node_row_ptr": [0]})"),
            "JSON graph: a head does not exist");
  EXPECT_EQ(error_of(R"({"nodes": []})"), "JSON graph: node_row_ptr does not fit the nodes");
}

TEST(Json, ReportsBrokenText) {
  EXPECT_EQ(error_of(""), "JSON, byte 0: the text ends inside of a value");
  EXPECT_EQ(error_of(R"({"nodes": [)"), "JSON, byte 11: the text ends inside of a value");
  EXPECT_EQ(error_of(R"({"nodes": [}})"), "JSON, byte 11: a bracket does not match");
  EXPECT_EQ(error_of(R"({"nodes": [] "heads")"), "JSON, byte 13: expected `,` or the end");
  EXPECT_EQ(error_of("{} {}"), "JSON, byte 3: text after the value");
}

TEST(Json, ReadsEscapes) {
  JsonDocument document;
  ASSERT_TRUE(document.parse(R"(["a\n\"\u00e9\ud83d\ude00"])")) << document.error();
  EXPECT_EQ(document.text(document.first_child(document.root())), "a\n\"\xc3\xa9\xf0\x9f\x98\x80");
}

TEST(Json, DepthCostsNoStack) {
  const std::string deep(1'000'000, '[');
  JsonDocument document;
  EXPECT_TRUE(document.parse(deep + std::string(1'000'000, ']'))) << document.error();
}

}  // namespace
}  // namespace tessera::runtime
