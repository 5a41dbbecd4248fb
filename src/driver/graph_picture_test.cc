// SPDX-License-Identifier: Apache-2.0
// The graph of a host program, and its picture.
#include "driver/graph_picture.h"

#include <gtest/gtest.h>

#include "driver/program_graph.h"
#include "tir/expr_ops.h"

namespace tessera::driver {
namespace {

using tir::Buffer;
using tir::Stmt;

Buffer buffer(const std::string& name) {
  return tir::make_buffer(name, kFloat32, {tir::int_imm(4)});
}

Stmt call(const std::string& symbol, std::vector<Buffer> inputs, std::vector<Buffer> outputs) {
  return tir::CallKernel::make(symbol, std::move(inputs), std::move(outputs),
                               std::vector<tir::Expr>{});
}

std::size_t occurrences(const std::string& what, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

class GraphPicture : public ::testing::Test {
 protected:
  const Buffer x = buffer("x"), y = buffer("y"), a = buffer("a"), b = buffer("b"), c = buffer("c");

  void set_main(Stmt body) {
    for (const Buffer& inner : {c, b, a}) body = tir::Allocate::make(inner, body);
    tir::PrimFunc& main = module_.prim_funcs["main"];
    main.inputs = {x};
    main.outputs = {y};
    main.is_host = true;
    main.body = body;
  }
  void add(const std::string& symbol, const std::string& backend,
           std::vector<std::string> operators, const std::vector<std::string>& nodes) {
    Extern& e = module_.externs[symbol];
    e.backend = backend;
    e.operators = operators;
    PlacementRow row{symbol, backend, std::move(operators), {}, ""};
    for (const std::string& node : nodes) row.sources.push_back(node_of_model(node));
    report_.placement.push_back(std::move(row));
  }
  static Location node_of_model(const std::string& name) {
    return model_node_location("m.onnx", name);
  }
  collage::PlannedRegion& plan(const std::string& who, double seconds,
                               const std::vector<std::string>& nodes) {
    if (!report_.collage) report_.collage.emplace();
    collage::PlannedRegion& region = report_.collage->regions.emplace_back();
    region.chosen = {who, seconds, ""};
    region.operators = {"nn.dense"};
    for (const std::string& node : nodes) region.sources.push_back(node_of_model(node));
    return region;
  }
  // f, of onednn, and g, of generated code, are read by h.
  void make_diamond() {
    set_main(tir::seq(
        {call("f", {x}, {a}), call("g", {a}, {b}), call("f", {a}, {c}), call("h", {b, c}, {y})}));
    add("f", "onednn", {"nn.dense", "add"}, {"/one", "/two"});
    add("g", "native", {"exp"}, {"/exp"});
    add("h", "native", {"add"}, {"/sum"});
  }
  std::string picture() const { return graph_picture(module_, report_).text(); }
  std::vector<std::pair<std::size_t, std::size_t>> edges() const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (const ProgramEdge& e : program_graph(module_.prim_funcs.at("main")).edges) {
      found.emplace_back(e.from, e.to);
    }
    return found;
  }
  using Edges = std::vector<std::pair<std::size_t, std::size_t>>;

  Module module_;
  CompileReport report_;
};

TEST_F(GraphPicture, TensorsGoFromWhoWroteThemToWhoReadsThem) {
  make_diamond();
  EXPECT_EQ(edges(), (Edges{{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  const ProgramGraph graph = program_graph(module_.prim_funcs.at("main"));
  EXPECT_EQ(graph.calls[0].inputs, std::vector<std::string>{"x"});
  EXPECT_EQ(graph.calls[3].outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(graph.edges[3].tensors, std::vector<Buffer>{c});
}

TEST_F(GraphPicture, ViewsAreWhatTheyShow) {
  const Buffer view = buffer("view");
  set_main(tir::seq({call("f", {x}, {a}), tir::View::make(view, a, call("g", {view}, {y}))}));
  EXPECT_EQ(edges(), (Edges{{0, 1}}));
}

TEST_F(GraphPicture, AfterABranchATensorIsFromEitherSide) {
  const tir::Expr condition = tir::lt(tir::make_var("n"), 3);
  set_main(tir::seq({call("f", {x}, {a}), call("f", {x}, {b}),
                     tir::IfThenElse::make(condition, call("g", {b}, {a}), Stmt()),
                     tir::IfThenElse::make(condition, call("g", {a}, {c}), call("h", {a}, {c})),
                     call("f", {c}, {y})}));
  // a is of 0 or 2, c of 3 or 4
  EXPECT_EQ(edges(), (Edges{{0, 2}, {0, 3}, {0, 4}, {1, 2}, {2, 3}, {2, 4}, {3, 5}, {4, 5}}));
}

TEST_F(GraphPicture, HasABoxForEachCallAndAColourForEachBackEnd) {
  make_diamond();
  const std::string svg = picture();
  EXPECT_EQ(occurrences("<rect ", svg), 4u);
  EXPECT_EQ(occurrences("<path ", svg), 4u);
  EXPECT_EQ(occurrences("<title>onednn: f\nnn.dense, add\nnodes of its 2 calls: /one, /two", svg),
            2u);
  EXPECT_EQ(occurrences("<title>native: h\nadd\nnodes: /sum\ngives y</title>", svg), 1u) << svg;
  EXPECT_EQ(occurrences("<title>b: float32 (4)</title>", svg), 1u) << svg;
  EXPECT_EQ(occurrences("fill=\"#a6cee3\"", svg), 2u) << svg;  // onednn is called first
  EXPECT_EQ(occurrences("fill=\"#fdbf6f\"", svg), 2u) << svg;
  EXPECT_NE(svg.find("background: #a6cee3\"></span> onednn: 2 calls"), svg.npos) << svg;
  EXPECT_NE(svg.find("background: #fdbf6f\"></span> native: 2 calls"), svg.npos) << svg;
  EXPECT_EQ(svg.find(" us"), svg.npos) << svg;
  EXPECT_EQ(svg, picture());
}

TEST_F(GraphPicture, HasTimesWhereTheRegionsOfACallWereMeasured) {
  make_diamond();
  plan("onednn", 30e-6, {"/one"}).others = {{"native", 35e-6, ""}};
  plan("native", 9e-6, {"/two"}).others = {{"onednn", 10e-6, ""}};  // another plan was written
  plan("native", 2e-6, {"/sum"});
  const std::string svg = picture();
  EXPECT_EQ(occurrences(">onednn, 20.0 us</text>", svg), 2u) << svg;  // each half of 40
  EXPECT_EQ(occurrences("\nnn.dense: onednn 30.0 us; otherwise native 35.0 us\n", svg), 2u) << svg;
  EXPECT_EQ(occurrences(">native, 2.0 us</text>", svg), 1u) << svg;
  EXPECT_EQ(occurrences(">native</text>", svg), 1u) << svg;  // /exp has no time
  EXPECT_NE(svg.find("onednn: 2 calls, 40.0 us"), svg.npos) << svg;
  EXPECT_EQ(svg.find("native: 2 calls,"), svg.npos) << svg;
}

// A region that lies across two calls, or may be a part of either, is the time of none.
TEST_F(GraphPicture, HasNoTimesOfOtherRegions) {
  make_diamond();
  plan("native", 2e-6, {"/exp", "/sum"});
  plan("onednn", 2e-6, {"/one"});
  EXPECT_EQ(occurrences(" us</text>", picture()), 0u) << picture();
  EXPECT_EQ(occurrences("nn.dense: onednn 2.0 us", picture()), 2u) << picture();
}

TEST_F(GraphPicture, NamesAreText) {
  const std::string evil = "</title><script>alert(\"1\")</script>\x01";
  const Buffer named = buffer(evil);
  set_main(
      tir::Allocate::make(named, tir::seq({call("f", {x}, {named}), call("f", {named}, {y})})));
  add("f", "native", {evil}, {evil});
  const std::string svg = picture();
  EXPECT_EQ(svg.find("<script"), svg.npos) << svg;
  EXPECT_EQ(svg.find('\x01'), svg.npos) << svg;
  EXPECT_NE(svg.find("nodes of its 2 calls: &lt;/title&gt;&lt;script&gt;alert(&quot;1&quot;)"),
            svg.npos)
      << svg;
}

TEST_F(GraphPicture, OfTooManyCallsIsASentence) {
  std::vector<Stmt> calls(kMostCallsInPicture + 1, call("f", {x}, {y}));
  set_main(tir::seq(std::move(calls)));
  add("f", "native", {"exp"}, {"/exp"});
  const std::string text = picture();
  EXPECT_EQ(text.find("<svg"), text.npos);
  EXPECT_NE(text.find("makes 2001 calls"), text.npos) << text;
}

}  // namespace
}  // namespace tessera::driver
