// SPDX-License-Identifier: Apache-2.0
// Models of ONNX that decide sizes as they run: the library and the interpreter compute what `eval`
// does, in the shape that is expected.
#include <algorithm>
#include <map>

#include "driver/compile.h"
#include "driver/load_model.h"
#include "driver/testing/model_test.h"
#include "import/testing/model.h"
#include "ops/evaluation/compare.h"
#include "ops/evaluation/evaluate_function.h"

namespace tessera::driver {
namespace {

using import::add_attribute;
using import::TestModel;
using testing::ModelTest;
using testing::value_of;
using Extents = std::vector<std::int64_t>;

Tensor floats(Extents shape, const std::vector<double>& values) {
  return tensor_from_doubles(std::move(shape), kFloat32, values);
}
Tensor truth(bool value) { return tensor_from_ints({}, kBool, Extents{value}); }

class OnnxControlFlow : public ModelTest {
 protected:
  void compile_model() {
    CompileOptions o;
    o.model = model_.write();
    o.output = new_library();
    o.targets = {Target()};
    o.jobs = 1;
    value_of(compile(o));
    module_ = value_of(load_model(o.model, {}));
    exported_ = value_of(exec::Session::open_library(o.output, {.threads = 2}));
    interpreted_ = value_of(prepare_in_process(o, {.threads = 2}));
  }

  // The results of both executors and of the reference, which are the same.
  std::vector<Tensor> results(const std::vector<Tensor>& inputs,
                              const std::vector<DimBinding>& dims = {}) {
    const Module module = value_of(load_model(model_.write(), dims));
    const auto wanted = ops::evaluate(module, module.functions.at("main"), inputs);
    for (exec::Session* session : {exported_.get(), interpreted_.get()}) {
      const std::vector<Tensor> found = value_of(session->run(inputs));
      EXPECT_EQ(found.size(), wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(ops::first_difference(found[i], wanted[i], 1e-5), "") << "result " << i;
      }
    }
    return wanted;
  }

  static onnx::GraphProto* graph(onnx::NodeProto* node, const std::string& name) {
    return add_attribute(node, name, onnx::AttributeProto::GRAPH)->mutable_g();
  }
  static void step(onnx::GraphProto* g, const std::string& op,
                   const std::vector<std::string>& inputs,
                   const std::vector<std::string>& outputs) {
    auto* node = g->add_node();
    TestModel::fill(node, op, inputs, outputs);
    if (op == "Concat") import::set_int(node, "axis", 0);
  }
  void name_dimension(int input, int dimension, const std::string& name) {
    model_.proto.mutable_graph()
        ->mutable_input(input)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(dimension)
        ->set_dim_param(name);
  }

  TestModel model_;
  Module module_;
  std::unique_ptr<exec::Session> exported_, interpreted_;
};

TEST_F(OnnxControlFlow, BranchesOfDifferentSizes) {
  model_.input("c", {}, onnx::TensorProto::BOOL);
  model_.input("x", {2, 3});
  auto* node = model_.node("If", {"c"}, {"r", "s"}, "choice");
  auto* yes = graph(node, "then_branch");
  step(yes, "Concat", {"x", "x", "x"}, {"a"});
  step(yes, "Relu", {"x"}, {"b"});
  auto* no = graph(node, "else_branch");
  step(no, "Neg", {"x"}, {"a"});
  step(no, "Identity", {"a"}, {"b"});
  for (auto* g : {yes, no}) {
    for (const char* name : {"a", "b"}) g->add_output()->set_name(name);
  }
  model_.node("Abs", {"r"}, {"y"});
  model_.output("y");
  model_.output("s");
  compile_model();
  const relay::Function& main = module_.functions.at("main");
  EXPECT_EQ(to_string(main.type(main.result())),
            "(Tensor[(?, 3), float32], Tensor[(2, 3), float32])");
  const Tensor x = floats({2, 3}, {1, -2, 3, -4, 5, -6});
  EXPECT_EQ(results({truth(true), x})[0].shape, (Extents{6, 3}));
  EXPECT_EQ(results({truth(false), x})[0].shape, (Extents{2, 3}));
  EXPECT_EQ(element_as_double(results({truth(true), x})[0], 15), 4);
}

// A branch that is a constant, and one that chooses again.
TEST_F(OnnxControlFlow, BranchesWithinBranches) {
  model_.input("c", {}, onnx::TensorProto::BOOL);
  model_.input("d", {}, onnx::TensorProto::BOOL);
  model_.input("x", {4});
  model_.floats("k", {1}, {7});
  auto* node = model_.node("If", {"c"}, {"y"}, "outer");
  auto* yes = graph(node, "then_branch");
  step(yes, "If", {"d"}, {"inner"});
  auto* deep = yes->mutable_node(0);
  step(graph(deep, "then_branch"), "Concat", {"x", "k"}, {"five"});
  step(graph(deep, "else_branch"), "Identity", {"k"}, {"one"});
  deep->mutable_attribute(0)->mutable_g()->add_output()->set_name("five");
  deep->mutable_attribute(1)->mutable_g()->add_output()->set_name("one");
  yes->add_output()->set_name("inner");
  auto* no = graph(node, "else_branch");
  step(no, "Exp", {"x"}, {"four"});
  no->add_output()->set_name("four");
  model_.output("y");
  compile_model();
  const Tensor x = floats({4}, {1, 2, 3, 4});
  EXPECT_EQ(results({truth(true), truth(true), x})[0].shape, Extents{5});
  EXPECT_EQ(results({truth(true), truth(false), x})[0].shape, Extents{1});
  EXPECT_EQ(results({truth(false), truth(false), x})[0].shape, Extents{4});
}

// Running sums of a sequence and, from its end, the rows' negatives.
TEST_F(OnnxControlFlow, AScanOfAsManySlicesAsComeAtRunTime) {
  model_.input("x", {1, 3});
  name_dimension(0, 0, "n");
  model_.floats("zero", {3}, {0, 0, 0});
  auto* scan = model_.node("Scan", {"zero", "x", "x"}, {"last", "sums", "back"}, "scan");
  import::set_int(scan, "num_scan_inputs", 2);
  auto* directions = add_attribute(scan, "scan_input_directions", onnx::AttributeProto::INTS);
  for (const int backward : {0, 1}) directions->add_ints(backward);
  auto* body = graph(scan, "body");
  for (const char* name : {"sum", "row", "from_end"}) body->add_input()->set_name(name);
  step(body, "Add", {"sum", "row"}, {"next"});
  step(body, "Identity", {"next"}, {"kept"});
  step(body, "Neg", {"from_end"}, {"negative"});
  for (const char* name : {"next", "kept", "negative"}) body->add_output()->set_name(name);
  for (const char* name : {"last", "sums", "back"}) model_.output(name);
  compile_model();
  const relay::Function& main = module_.functions.at("main");
  EXPECT_EQ(to_string(flatten(main.type(main.result()))[1]), "Tensor[(?n, 3), float32]");
  const auto found = results({floats({2, 3}, {1, 2, 3, 10, 20, 30})}, {{"n", 2, {}}});
  EXPECT_EQ(found[1].shape, (Extents{2, 3}));
  EXPECT_EQ(element_as_double(found[0], 2), 33);
  EXPECT_EQ(element_as_double(found[2], 0), -10);
  EXPECT_EQ(results({floats({1, 3}, {1, 2, 3})}, {{"n", 1, {}}})[2].shape, (Extents{1, 3}));
  EXPECT_EQ(results({floats({5, 3}, std::vector<double>(15, 2))}, {{"n", 5, {}}})[1].shape,
            (Extents{5, 3}));
}

// Rows of which only the run tells how large they are, and nothing how many there will be.
TEST_F(OnnxControlFlow, RowsOfASizeThatDataDecide) {
  model_.input("x", {6});
  model_.input("k", {1}, onnx::TensorProto::INT64);
  model_.input("trips", {}, onnx::TensorProto::INT64);
  model_.ints("begin", {0});
  model_.floats("zero", {}, {0});
  auto* loop = model_.node("Loop", {"trips", "", "zero"}, {"last", "rows"}, "loop");
  auto* body = graph(loop, "body");
  for (const char* name : {"i", "c", "sum"}) body->add_input()->set_name(name);
  step(body, "Identity", {"c"}, {"again"});
  step(body, "Slice", {"x", "begin", "k"}, {"part"});
  step(body, "ReduceSum", {"part"}, {"total"});
  import::set_int(body->mutable_node(2), "keepdims", 0);
  step(body, "Add", {"sum", "total"}, {"next"});
  step(body, "Add", {"part", "sum"}, {"row"});
  for (const char* name : {"again", "next", "row"}) body->add_output()->set_name(name);
  for (const char* name : {"last", "rows"}) model_.output(name);
  compile_model();
  const auto rows = [&](std::int64_t k, std::int64_t trips) {
    return results({floats({6}, {1, 2, 3, 4, 5, 6}), tensor_from_ints({1}, kInt64, Extents{k}),
                    tensor_from_ints({}, kInt64, Extents{trips})})[1];
  };
  EXPECT_TRUE(rows(2, 3) == floats({3, 2}, {1, 2, 4, 5, 7, 8}));
  EXPECT_TRUE(rows(4, 1) == floats({1, 4}, {1, 2, 3, 4}));
  EXPECT_EQ(rows(5, 4).shape, (Extents{4, 5}));
  EXPECT_EQ(rows(5, 0).shape[0], 0);
}

// The slices are as many as there are values other than zero; each is a row of its own.
TEST_F(OnnxControlFlow, AScanOverWhatDataDecide) {
  model_.input("x", {6});
  model_.input("first", {1}, onnx::TensorProto::INT64);
  model_.node("NonZero", {"x"}, {"nz"});
  auto* transpose = model_.node("Transpose", {"nz"}, {"places"});
  auto* perm = add_attribute(transpose, "perm", onnx::AttributeProto::INTS);
  for (const int axis : {1, 0}) perm->add_ints(axis);
  auto* scan = model_.node("Scan", {"first", "places"}, {"last", "sums"}, "scan");
  import::set_int(scan, "num_scan_inputs", 1);
  auto* body = graph(scan, "body");
  for (const char* name : {"sum", "row"}) body->add_input()->set_name(name);
  step(body, "Add", {"sum", "row"}, {"next"});
  step(body, "Identity", {"next"}, {"kept"});
  for (const char* name : {"next", "kept"}) body->add_output()->set_name(name);
  for (const char* name : {"last", "sums"}) model_.output(name);
  compile_model();
  const Tensor zero = tensor_from_ints({1}, kInt64, Extents{0});
  const auto found = results({floats({6}, {0, 1, 1, 0, 0, 1}), zero});
  EXPECT_TRUE(found[1] == tensor_from_ints({3, 1}, kInt64, Extents{1, 3, 8}));
  EXPECT_EQ(results({floats({6}, {0, 0, 0, 0, 0, 0}), zero})[1].shape, (Extents{0, 1}));
}

TEST_F(OnnxControlFlow, AsManyDistinctValuesAsThereAre) {
  model_.input("x", {1});
  name_dimension(0, 0, "n");
  model_.node("Unique", {"x"}, {"y", "first", "inverse", "counts"}, "distinct");
  for (const char* name : {"y", "first", "inverse", "counts"}) model_.output(name);
  compile_model();
  const auto found = results({floats({6}, {2, 1, 1, 3, 4, 3})});
  EXPECT_TRUE(found[0] == floats({4}, {1, 2, 3, 4}));
  EXPECT_TRUE(found[1] == tensor_from_ints({4}, kInt64, Extents{1, 0, 3, 4}));
  EXPECT_TRUE(found[2] == tensor_from_ints({6}, kInt64, Extents{1, 0, 0, 2, 3, 2}));
  EXPECT_TRUE(found[3] == tensor_from_ints({4}, kInt64, Extents{2, 1, 2, 1}));
  EXPECT_EQ(results({floats({3}, {5, 5, 5})})[0].shape, Extents{1});
}

// Rows of more columns than are sorted one by one: an odd number, and few values, so that rows
// differ late.
TEST_F(OnnxControlFlow, DistinctRowsOfManyColumns) {
  constexpr std::int64_t kRows = 40, kColumns = 37;
  model_.input("x", {1, kColumns});
  name_dimension(0, 0, "n");
  import::set_int(model_.node("Unique", {"x"}, {"y", "first", "inverse", "counts"}, "distinct"),
                  "axis", 0);
  for (const char* name : {"y", "first", "inverse", "counts"}) model_.output(name);
  compile_model();
  std::vector<std::vector<double>> rows(kRows, std::vector<double>(kColumns, 1));
  for (std::int64_t r = 0; r < kRows; ++r) {
    rows[static_cast<std::size_t>(r)][static_cast<std::size_t>(r * 7 % 5 * 9)] -= 1;
    rows[static_cast<std::size_t>(r)][kColumns - 1] += static_cast<double>(r % 3);
  }
  std::vector<double> data;
  for (const auto& row : rows) data.insert(data.end(), row.begin(), row.end());
  const auto found = results({floats({kRows, kColumns}, data)});
  std::map<std::vector<double>, std::int64_t> counts;  // in the order of the rows
  for (const auto& row : rows) ++counts[row];
  ASSERT_EQ(counts.size(), 15u);
  std::vector<double> wanted;
  Extents wanted_counts, wanted_first, wanted_inverse;
  for (const auto& [row, count] : counts) {
    wanted.insert(wanted.end(), row.begin(), row.end());
    wanted_counts.push_back(count);
    wanted_first.push_back(std::find(rows.begin(), rows.end(), row) - rows.begin());
  }
  for (const auto& row : rows) {
    wanted_inverse.push_back(std::distance(counts.begin(), counts.find(row)));
  }
  EXPECT_TRUE(found[0] == floats({15, kColumns}, wanted));
  EXPECT_TRUE(found[1] == tensor_from_ints({15}, kInt64, wanted_first));
  EXPECT_TRUE(found[2] == tensor_from_ints({kRows}, kInt64, wanted_inverse));
  EXPECT_TRUE(found[3] == tensor_from_ints({15}, kInt64, wanted_counts));
}

// No input has an open size: all that the host program computes with is found by the run.
TEST_F(OnnxControlFlow, ASliceOfWhatABranchGave) {
  model_.input("x", {6});
  model_.input("c", {}, onnx::TensorProto::BOOL);
  for (const auto& [name, value] : {std::pair{"zero", 0}, {"two", 2}, {"minus_one", -1}}) {
    model_.ints(name, {value});
  }
  model_.node("NonZero", {"x"}, {"places"});
  model_.node("Squeeze", {"places", "zero"}, {"v"});
  auto* node = model_.node("If", {"c"}, {"w"}, "choice");
  auto* yes = graph(node, "then_branch");
  step(yes, "Concat", {"v", "v"}, {"a"});
  auto* no = graph(node, "else_branch");
  step(no, "Neg", {"v"}, {"a"});
  for (auto* g : {yes, no}) g->add_output()->set_name("a");
  model_.node("Slice", {"w", "zero", "two"}, {"y"});
  model_.node("Slice", {"w", "two", "minus_one"}, {"z"});
  model_.output("y");
  model_.output("z");
  compile_model();
  const Tensor x = floats({6}, {0, 1, 0, 2, 3, 0});
  EXPECT_TRUE(results({x, truth(true)})[1] == tensor_from_ints({3}, kInt64, Extents{4, 1, 3}));
  EXPECT_TRUE(results({x, truth(false)})[0] == tensor_from_ints({2}, kInt64, Extents{-1, -3}));
  const Tensor none = floats({6}, {0, 0, 0, 0, 0, 0});
  EXPECT_EQ(results({none, truth(true)})[0].shape, Extents{0});
}

// `seq` meets a table of as many rows as there are, at most 8: what that gives has no name.
TEST_F(OnnxControlFlow, SizesThatOnlyBroadcastingTells) {
  model_.input("x", {1, 1, 4});
  name_dimension(0, 0, "batch");
  name_dimension(0, 1, "seq");
  model_.floats("table", {8, 4}, std::vector<float>(32, 0.5f));
  for (const auto& [name, value] : {std::pair{"zero", 0}, {"one", 1}, {"two", 2}, {"rest", -1}}) {
    model_.ints(name, {value});
  }
  model_.node("Shape", {"x"}, {"sizes"});
  model_.node("Gather", {"sizes", "zero"}, {"batch"});
  model_.node("Gather", {"sizes", "one"}, {"seq"});
  model_.node("Slice", {"table", "zero", "seq"}, {"rows"});
  model_.node("Add", {"x", "rows"}, {"sum"});
  model_.node("Unsqueeze", {"sum", "zero"}, {"apart"});
  import::set_int(model_.node("Concat", {"batch", "rest", "two", "two"}, {"split"}), "axis", 0);
  model_.node("Reshape", {"sum", "split"}, {"heads"});
  model_.node("Relu", {"apart"}, {"y"});
  model_.node("Exp", {"heads"}, {"z"});
  model_.output("y");
  model_.output("z");
  compile_model();
  for (const auto& [batch, seq] : {std::pair{2, 3}, {1, 8}, {3, 1}}) {
    const auto found = results({exec::random_input({"", kFloat32, {batch, seq, 4}}, 1)},
                               {{"batch", batch, {}}, {"seq", seq, {}}});
    EXPECT_EQ(found[0].shape, (Extents{1, batch, seq, 4}));
    EXPECT_EQ(found[1].shape, (Extents{batch, seq, 2, 2}));
  }
}

}  // namespace
}  // namespace tessera::driver
