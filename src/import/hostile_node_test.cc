// SPDX-License-Identifier: Apache-2.0
// Nodes whose attributes, ranks or sizes lead a converter astray: each is refused with a diagnostic
// that names the node, or imported; nothing worse, and no more than the limits is made of it.
#include <gtest/gtest.h>

#include "import/testing/refusals.h"

namespace tessera::import {
namespace {

std::string first_code(const Result<Module>& result) {
  return result ? "" : std::string(code_text(result.error().list[0].code));
}

// A node of operands that are initializers of ones.
struct Operand {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> ints = {};  // instead
};
onnx::NodeProto* node_of(TestModel& m, const std::string& op, const std::vector<Operand>& operands,
                         const std::vector<std::string>& outputs = {"y"}) {
  std::vector<std::string> names;
  for (const Operand& o : operands) {
    names.push_back("x" + std::to_string(names.size()));
    std::size_t count = 1;
    for (const std::int64_t n : o.shape) count *= static_cast<std::size_t>(n);
    if (o.ints.empty()) {
      m.floats(names.back(), o.shape, std::vector<float>(count, 1));
    } else {
      auto* t = m.ints(names.back(), o.ints);
      t->clear_dims();
      for (const std::int64_t n : o.shape) t->add_dims(n);
    }
  }
  for (const std::string& name : outputs) m.output(name);
  return m.node(op, names, outputs, "node");
}

TEST(HostileNode, RecurrentWeightsOfAnyRank) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (const Operand& w : {Operand{{}}, Operand{{1}}, Operand{{1, 4}}, Operand{{0, 4, 2}}}) {
      for (const Operand& r : {Operand{{}}, Operand{{1, 4, 2}}}) {
        TestModel m;
        set_int(node_of(m, op, {{{1, 1, 2}}, w, r}, {"", "h"}), "hidden_size", 2);
        EXPECT_EQ(first_code(m.import()).substr(0, 2), "E0") << op;
      }
    }
    for (const std::int64_t hidden : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
      TestModel m;
      set_int(node_of(m, op, {{{1, 1, 2}}, {{1, 4, 2}}, {{1, 4, 2}}}), "hidden_size", hidden);
      EXPECT_EQ(first_code(m.import()), "E0208") << op << " " << hidden;
    }
    TestModel missing;
    set_int(node_of(missing, op, {{{1, 1, 2}}}), "hidden_size", 2);
    EXPECT_EQ(first_code(missing.import()), "E0207") << op;
  }
}

TEST(HostileNode, RepetitionsOfTileAreAList) {
  TestModel m;
  node_of(m, "Tile", {{{2, 2}}, {{}, {3}}});
  expect_refused(m.import(), {{Code::kShapeMismatch, "node", "one number of repetitions"}});
  TestModel open;
  open.input("x", {2, 2});
  open.input("reps", {}, onnx::TensorProto::INT64);
  open.node("Tile", {"x", "reps"}, {"y"}, "node");
  open.output("y");
  expect_refused(open.import(), {{Code::kShapeMismatch, "node", "too few for it"}});
}

TEST(HostileNode, TransformsOfNothing) {
  for (const Operand& x : {Operand{{}}, Operand{{4}}, Operand{{1, 0, 1}}, Operand{{1, 4, 3}},
                           Operand{{0, 0, 0}}, Operand{{1, 4, 0}}}) {
    TestModel m;
    node_of(m, "DFT", {x});
    EXPECT_NE(first_code(m.import()), "") << x.shape.size();
  }
  TestModel one_axis;
  set_int(node_of(one_axis, "DFT", {{{4}}}), "axis", 0);
  EXPECT_EQ(first_code(one_axis.import()), "E0203");
}

TEST(HostileNode, LimitsOfRangeAreNumbers) {
  TestModel m;
  for (const char* name : {"a", "b", "c"}) m.input(name, {2}, onnx::TensorProto::INT64);
  m.node("Range", {"a", "b", "c"}, {"y"}, "node");
  m.output("y", {}, onnx::TensorProto::INT64);
  EXPECT_EQ(first_code(m.import()), "E0203");
}

// A declaration that cannot be true tells nothing: the data decide.
TEST(HostileNode, DeclaredRanksAreThoseOfTheResult) {
  TestModel m;
  m.input("x", {2, 2});
  m.input("k", {1}, onnx::TensorProto::INT64);
  m.node("TopK", {"x", "k"}, {"y", "places"}, "node");
  m.output("y", {});
  const auto module = m.import();
  ASSERT_TRUE(module) << render(module.error());
  const relay::Function& main = module->functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())), "Tensor[(2, ?), float32]");
  EXPECT_FALSE(module->warnings.empty());
}

TEST(HostileNode, ListsOfConvolutionsHaveTheirLengths) {
  using Ints = std::vector<std::int64_t>;
  const Operand x{{1, 1, 4, 4}}, w{{1, 1, 2, 2}};
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const char* list : {"strides", "dilations", "pads"}) {
      for (const Ints& value : {Ints{1}, Ints{1, 1, 1}, Ints{INT64_MAX, 1},
                                Ints{INT64_MIN, 0, 0, 0}, Ints{std::int64_t{1} << 31, 0, 0, 0}}) {
        TestModel m;
        set_ints(node_of(m, op, {x, w}), list, value);
        EXPECT_EQ(first_code(m.import()), "E0208") << op << " " << list;
      }
    }
    for (const std::int64_t groups : {std::int64_t{0}, INT64_MAX, INT64_MIN}) {
      TestModel m;
      set_int(node_of(m, op, {x, w}), "group", groups);
      EXPECT_EQ(first_code(m.import()), "E0208") << op << groups;
    }
  }
  for (const char* list : {"output_padding", "output_shape"}) {
    TestModel m;
    onnx::NodeProto* n = node_of(m, "ConvTranspose", {x, w});
    set_ints(n, list, {1});
    set_string(n, "auto_pad", "SAME_UPPER");
    EXPECT_EQ(first_code(m.import()), "E0208") << list;
  }
}

// Sums and products that would not fit 64 bits are not made.
TEST(HostileNode, SizesOfImagesHaveALimit) {
  for (const std::int64_t size : {INT64_MAX, INT64_MIN, std::int64_t{1} << 40}) {
    for (const char* list : {"output_padding", "output_shape"}) {
      TestModel m;
      set_ints(node_of(m, "ConvTranspose", {{{1, 1, 4, 4}}, {{1, 1, 2, 2}}}), list, {size, size});
      EXPECT_EQ(first_code(m.import()), "E0208") << list << size;
    }
    TestModel unpool;
    const Operand places{{1, 1, 1, 1}, {0}}, shape{{4}, {1, 1, size, 4}};
    set_ints(node_of(unpool, "MaxUnpool", {{{1, 1, 1, 1}}, places, shape}), "kernel_shape", {2, 2});
    EXPECT_EQ(first_code(unpool.import()), "E0208") << size;
    TestModel columns(18);
    node_of(columns, "Col2Im", {{{1, 4, 4}}, {{2}, {size, 4}}, {{2}, {2, 2}}});
    EXPECT_EQ(first_code(columns.import()), "E0208") << size;
  }
  TestModel parts(18);
  set_int(node_of(parts, "Split", {{{2}}, {{3}, {INT64_MAX, INT64_MAX, 4}}}, {"a", "b", "c"}),
          "axis", 0);
  EXPECT_EQ(first_code(parts.import()), "E0203") << "their sum is 2 in 64 bits";
}

// Else they would give places more dimensions, and the result more than the axes are of.
TEST(HostileNode, ListsAreOfOneDimension) {
  TestModel m(18);
  m.input("x", {2, 2});
  m.input("sizes", {2, 3, 3}, onnx::TensorProto::INT64);
  m.node("CenterCropPad", {"x", "sizes"}, {"y"}, "node");
  m.output("y", {2, 2});
  expect_refused(m.import(), {{Code::kShapeMismatch, "node", "is no list"}});
}

TEST(HostileNode, GridsOfNegativeSizes) {
  for (const std::int64_t size : {-1, -2}) {
    TestModel m(20);
    m.floats("theta", {1, 2, 3}, {1, 0, 0, 0, 1, 0});
    m.ints("size", {1, 1, size, size});
    m.node("AffineGrid", {"theta", "size"}, {"y"}, "node");
    m.output("y");
    EXPECT_EQ(first_code(m.import()), "E0213") << size;
  }
}

TEST(HostileNode, DiagonalsAreThoseOfSquares) {
  TestModel m;
  set_string(node_of(m, "Einsum", {{{2, 3}}}), "equation", "ii->i");
  EXPECT_EQ(first_code(m.import()), "E0203");
}

TEST(HostileNode, ProductsOfFloatsAndIntegers) {
  const Operand whole{{1, 1, 1}, {1}};
  for (const char* op : {"MatMul", "Conv", "ConvTranspose"}) {
    for (const bool first : {false, true}) {
      const Operand one{{1, 1, 1}};
      TestModel m;
      node_of(m, op, first ? std::vector{whole, one} : std::vector{one, whole});
      EXPECT_EQ(first_code(m.import()), "E0204") << op << first;
    }
  }
}

// Known indices are compared with known sizes, and nothing is written meanwhile.
TEST(HostileNode, UpdatesOutsideAreRefused) {
  for (const char* op : {"ScatterND", "ScatterElements"}) {
    TestModel m;
    const bool nd = op == std::string("ScatterND");
    const Operand index = nd ? Operand{{1, 1}, {9}} : Operand{{1}, {9}};
    node_of(m, op, {{{4}}, index, {{1}}});
    EXPECT_EQ(first_code(m.import()), "E0603") << op;
  }
}

TEST(HostileNode, NormsOfScalars) {
  for (const char* op : {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization"}) {
    TestModel m;
    node_of(m, op, {{{}}, {{}}, {{}}})->set_domain("com.microsoft");
    EXPECT_EQ(first_code(m.import()), "E0203") << op;
  }
}

TEST(HostileNode, AttentionOfAnyRank) {
  for (int rank = 0; rank < 6; ++rank) {
    for (const std::size_t lengths : {3, 6}) {  // the place of a mask, and of numbers of keys
      TestModel m(24);
      const std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 2);
      std::vector<std::string> names = {"q", "k", "v"};
      for (const std::string& name : names) m.input(name, shape);
      names.resize(lengths);
      names.emplace_back("more");
      m.input("more", lengths == 3 ? std::vector<std::int64_t>{2, 2} : std::vector<std::int64_t>{2},
              lengths == 3 ? onnx::TensorProto::FLOAT : onnx::TensorProto::INT64);
      onnx::NodeProto* n = m.node("Attention", names, {"y"}, "node");
      for (const char* heads : {"q_num_heads", "kv_num_heads"}) set_int(n, heads, 1);
      m.output("y");
      EXPECT_EQ(first_code(m.import()), rank == 3 || rank == 4 ? "" : "E0203") << rank;
    }
  }
}

TEST(HostileNode, HeadsOfKeysOfAnyRank) {
  for (const std::size_t rank : {2, 3}) {
    TestModel m;
    m.input("q", {2, 2, 4});
    m.input("k", {2, 2, 2, 2});
    m.input("v", std::vector<std::int64_t>(rank, 2));
    m.input("padding", {2}, onnx::TensorProto::INT32);
    onnx::NodeProto* n =
        m.node("MultiHeadAttention", {"q", "k", "v", "", "padding"}, {"y"}, "node");
    n->set_domain("com.microsoft");
    set_int(n, "num_heads", 2);
    m.output("y");
    expect_refused(m.import(), {{Code::kShapeMismatch, "node", "not four dimensions"}});
  }
}

// ---- Limits ----

// What is made of sizes in the file alone takes no more than the limits say.
TEST(HostileNode, TablesHaveALimit) {
  for (const std::int64_t size : {std::int64_t{1} << 31, std::int64_t{1} << 60}) {
    TestModel window;
    node_of(window, "HannWindow", {{{}, {size}}});
    expect_refused(window.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
    TestModel hot;
    hot.input("x", {2}, onnx::TensorProto::INT64);
    hot.ints("depth", {size});
    hot.floats("values", {2}, {0, 1});
    hot.node("OneHot", {"x", "depth", "values"}, {"y"}, "node");
    hot.output("y");
    expect_refused(hot.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
    TestModel grid;
    grid.floats("theta", {1, 2, 3}, {1, 0, 0, 0, 1, 0});
    grid.ints("size", {1, 1, size, 2});
    grid.node("AffineGrid", {"theta", "size"}, {"y"}, "node");
    grid.output("y");
    grid.proto.mutable_opset_import(0)->set_version(20);
    expect_refused(grid.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
  }
  TestModel inverse;
  inverse.floats("x", {1, 4, 2}, std::vector<float>(8, 1));
  auto* length = inverse.ints("length", {std::int64_t{1} << 40});
  length->clear_dims();
  onnx::NodeProto* n = inverse.node("DFT", {"x", "length"}, {"y"}, "node");
  for (const char* flag : {"inverse", "onesided"}) set_int(n, flag, 1);
  inverse.output("y");
  expect_refused(inverse.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
  TestModel signal;
  signal.input("x", {1, 100000, 1});
  signal.node("DFT", {"x"}, {"y"}, "node");
  signal.output("y");
  expect_refused(signal.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
}

TEST(HostileNode, ALimitThatIsRaisedLetsItThrough) {
  TestModel m;
  node_of(m, "HannWindow", {{{}, {5 << 20}}});
  expect_refused(m.import(), {{Code::kLimitExceeded, "node", "`constant-bytes`"}});
  ImportOptions options;
  options.limits = {{"constant-bytes", 64 << 20}};
  EXPECT_TRUE(m.import(options));
}

// Each function calls the one before it twice: 2^40 calls of a file of 3 KB.
void nest_functions(TestModel& m, int depth) {
  for (int k = 0; k < depth; ++k) {
    auto* f = m.proto.add_functions();
    f->set_name("f" + std::to_string(k));
    f->set_domain("own");
    f->add_input("a");
    f->add_output("c");
    auto* import = f->add_opset_import();
    import->set_version(17);
    for (const auto& [from, to] : {std::pair("a", "b"), std::pair("b", "c")}) {
      auto* inner = f->add_node();
      TestModel::fill(inner, k == 0 ? "Relu" : "f" + std::to_string(k - 1), {from}, {to});
      if (k > 0) inner->set_domain("own");
    }
  }
  m.input("x", {2});
  m.node("f" + std::to_string(depth - 1), {"x"}, {"y"}, "call")->set_domain("own");
  m.output("y");
}

TEST(HostileGraph, CallsOfFunctionsHaveALimit) {
  TestModel m;
  nest_functions(m, 40);
  ImportOptions options;
  options.limits = {{"nodes", 20000}};  // the machine's own takes longer than a test should
  const auto refused = m.import(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().list.size(), 1u) << "one error, not one a call";
  EXPECT_EQ(first_code(refused), "E0109");
  EXPECT_NE(refused.error().list[0].remedy.find("--limit nodes="), std::string::npos);
  TestModel small;
  nest_functions(small, 8);
  EXPECT_TRUE(small.import());
  options.limits = {{"nodes", 100}};
  EXPECT_EQ(first_code(small.import(options)), "E0109");
}

TEST(HostileGraph, StepsOfSequencesAreNotUnrolled) {
  TestModel m;
  m.input("x", {1000000, 1, 1});
  m.floats("w", {1, 1, 1}, {1});
  m.floats("r", {1, 1, 1}, {1});
  set_int(m.node("RNN", {"x", "w", "r"}, {"y"}, "node"), "hidden_size", 1);
  m.output("y");
  ImportOptions options;
  options.limits = {{"nodes", 100}};
  EXPECT_TRUE(m.import(options));
}

TEST(HostileGraph, TensorsHaveAtMost64Dimensions) {
  const std::vector<std::int64_t> ones(10000, 1);
  TestModel input;
  input.input("x", ones);
  input.node("Relu", {"x"}, {"y"}, "node");
  input.output("y");
  expect_refused(input.import(), {{Code::kBadDimension, "x", "10000 dimensions"}});
  TestModel weight;
  node_of(weight, "Relu", {{ones}});
  expect_refused(weight.import(), {{Code::kBadDimension, "x0", "10000 dimensions"}});
  TestModel made;
  made.input("x", {1});
  made.ints("shape", ones);
  made.node("Reshape", {"x", "shape"}, {"y"}, "node");
  made.output("y");
  expect_refused(made.import(), {{Code::kBadDimension, "node", "10000 dimensions"}});
  TestModel by_data;
  by_data.input("x", {1});
  by_data.input("shape", {std::int64_t{1} << 40}, onnx::TensorProto::INT64);
  by_data.node("Reshape", {"x", "shape"}, {"y"}, "node");
  by_data.output("y");
  expect_refused(by_data.import(), {{Code::kBadDimension, "node", "1099511627776 dimensions"}});
}

}  // namespace
}  // namespace tessera::import
