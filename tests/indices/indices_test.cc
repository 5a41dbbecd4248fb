// SPDX-License-Identifier: Apache-2.0
// ONNX's gathering and scattering operators, compiled and interpreted: an index outside ends the
// run with a sentence that names node and index, and the next run is right.
#include <thread>

#include <fmt/format.h>

#include "driver/compile.h"
#include "driver/dimensions.h"
#include "driver/testing/model_test.h"
#include "exec/session.h"
#include "import/testing/model.h"

namespace tessera::driver {
namespace {

using import::add_attribute;
using import::set_int;
using import::TestModel;
using testing::ModelTest;
using testing::value_of;
using Ints = std::vector<std::int64_t>;

constexpr int kInt64Type = onnx::TensorProto::INT64;

Tensor ints(Ints shape, const Ints& values, DType dtype = kInt64) {
  return tensor_from_ints(std::move(shape), dtype, values);
}
// 0, 1, 2, ...
Tensor counted(Ints shape, DType dtype = kFloat32) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(i));
  return tensor_from_doubles(std::move(shape), dtype, values);
}
std::vector<double> elements(const Tensor& t) {
  std::vector<double> out;
  for (std::int64_t i = 0; i < t.num_elements(); ++i) out.push_back(element_as_double(t, i));
  return out;
}

class IndicesTest : public ModelTest {
 protected:
  CompileOptions options() {
    CompileOptions o;
    o.model = model_.write();
    o.output = folder_.file("m.so");
    o.targets = {Target()};
    o.jobs = 1;
    return o;
  }
  void compile_model(const CompileOptions& o) {
    value_of(compile(o));
    exported_ = value_of(exec::Session::open_library(o.output, {.threads = 2}));
    interpreted_ = value_of(prepare_in_process(o, {.threads = 2}));
  }
  void compile_model() { compile_model(options()); }

  // An input with a named dimension in front.
  void open_input(const std::string& name, const Ints& shape, const std::string& symbol,
                  int dtype = onnx::TensorProto::FLOAT) {
    model_.input(name, shape, dtype);
    auto* inputs = model_.proto.mutable_graph()->mutable_input();
    auto* type = inputs->at(inputs->size() - 1).mutable_type()->mutable_tensor_type();
    type->mutable_shape()->mutable_dim(0)->set_dim_param(symbol);
  }

  std::vector<exec::Session*> sessions() { return {exported_.get(), interpreted_.get()}; }

  void expect_result(const std::vector<Tensor>& inputs, const std::vector<double>& wanted) {
    for (exec::Session* s : sessions()) {
      const auto found = s->run(inputs);
      ASSERT_TRUE(found) << render(found.error());
      EXPECT_EQ(elements(found->at(0)), wanted);
    }
  }
  void expect_refusal(const std::vector<Tensor>& inputs, const std::string& sentence) {
    for (exec::Session* s : sessions()) {
      const auto found = s->run(inputs);
      ASSERT_FALSE(found) << sentence;
      EXPECT_EQ(found.error().list.at(0).code, Code::kIndexOutOfRange);
      EXPECT_NE(render(found.error()).find(sentence), std::string::npos) << render(found.error());
    }
  }

  TestModel model_{18};
  std::unique_ptr<exec::Session> exported_, interpreted_;
};

std::string outside(const std::string& node, std::int64_t index, int element, int axis, int size) {
  return fmt::format(
      "node `{}`: the index {} at element {} of its indices lies outside of axis {}, which has {} "
      "elements",
      node, index, element, axis, size);
}

class IndicesOfAnEmbedding : public IndicesTest, public ::testing::WithParamInterface<DType> {};

TEST_P(IndicesOfAnEmbedding, CountFromEitherEnd) {
  const bool wide = GetParam() == kInt64;
  model_.floats("table", {5, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  model_.input("ids", {2, 2}, wide ? kInt64Type : onnx::TensorProto::INT32);
  model_.node("Gather", {"table", "ids"}, {"y"}, "/emb/Gather");
  model_.output("y");
  compile_model();
  const auto ids = [&](std::int64_t last) {
    return std::vector<Tensor>{ints({2, 2}, {0, 4, -5, last}, GetParam())};
  };
  const std::int64_t lowest = wide ? INT64_MIN : INT32_MIN;
  for (const std::int64_t bad : {std::int64_t{5}, std::int64_t{-6}, lowest, ~lowest}) {
    expect_refusal(ids(bad), outside("/emb/Gather", bad, 3, 0, 5));
    expect_result(ids(-1), {0, 1, 8, 9, 0, 1, 8, 9});
  }
}

INSTANTIATE_TEST_SUITE_P(Types, IndicesOfAnEmbedding, ::testing::Values(kInt64, kInt32),
                         [](const auto& info) { return to_string(info.param); });

TEST_F(IndicesTest, OfPositionsInAnOpenSequence) {
  model_.floats("table", {4, 1}, {10, 11, 12, 13});
  open_input("x", {0}, "seq");
  model_.node("Shape", {"x"}, {"shape"});
  model_.ints("zeros", {0});
  model_.node("Squeeze", {"shape", "zeros"}, {"seq_length"});
  auto* zero = model_.ints("zero", {0});
  auto* one = model_.ints("one", {1});
  zero->clear_dims();
  one->clear_dims();
  model_.node("Range", {"zero", "seq_length", "one"}, {"positions"});
  model_.node("Gather", {"table", "positions"}, {"rows"}, "positions");
  model_.output("rows");
  compile_model();
  expect_result({counted({4})}, {10, 11, 12, 13});
  expect_refusal({counted({5})}, outside("positions", 4, 4, 0, 4));
  expect_result({counted({1})}, {10});
  // With a bound there is nothing to check.
  CompileOptions bounded = options();
  bounded.dims = value_of(parse_dim_bindings(std::vector<std::string>{"seq=1..4"}));
  const CompileReport report = value_of(compile(bounded));
  for (const PlacementRow& row : report.placement) {
    for (const std::string& op : row.operators) EXPECT_NE(op, "check_indices");
  }
}

TEST_F(IndicesTest, OfAnAxisThatMayBeEmpty) {
  open_input("x", {0, 2}, "n");
  open_input("i", {0}, "k", kInt64Type);
  model_.node("Gather", {"x", "i"}, {"y"}, "g");
  model_.output("y");
  CompileOptions o = options();
  o.dims = value_of(parse_dim_bindings(std::vector<std::string>{"n=0..8", "k=0..8"}));
  compile_model(o);
  for (exec::Session* s : sessions()) {  // the sizes alone say it
    const auto found = s->run(std::vector<Tensor>{counted({0, 2}), ints({1}, {0})});
    ASSERT_FALSE(found);
    EXPECT_NE(render(found.error()).find("elements to choose from"), std::string::npos)
        << render(found.error());
  }
  expect_result({counted({0, 2}), ints({0}, {})}, {});
  expect_refusal({counted({2, 2}), ints({2}, {1, 2})}, outside("g", 2, 1, 0, 2));
  expect_result({counted({2, 2}), ints({1}, {1})}, {2, 3});
}

// A start before the first element is the first element, if the step leads backwards.
TEST_F(IndicesTest, OfWhereASliceBegins) {
  struct Case {
    std::int64_t start, end, step;
    std::vector<double> wanted;  // of 1 2 3 4 5
  };
  const Case cases[] = {
      {-9, -99, -1, {1}},    {-6, -7, -1, {1}},        {-5, -99, -1, {1}},
      {-9, 3, -1, {}},       {-1, -99, -2, {5, 3, 1}}, {9, -99, -1, {5, 4, 3, 2, 1}},
      {-9, 9, 2, {1, 3, 5}}, {-3, -4, -1, {3}},
  };
  const Tensor x = tensor_from_doubles({5}, kFloat32, std::vector<double>{1, 2, 3, 4, 5});
  model_.ints("axes", {0});
  model_.input("closed", {5});
  open_input("open", {0}, "n");
  const std::vector<Tensor> inputs = {x, x};
  for (const char* bound : {"start", "end", "step"}) model_.input(bound, {1}, kInt64Type);
  std::vector<std::vector<double>> wanted;
  const auto slice = [&](const std::string& x, const std::string& suffix, const Case& c) {
    const std::string y = x + "_slice" + suffix;
    model_.node("Slice", {x, "start" + suffix, "end" + suffix, "axes", "step" + suffix}, {y});
    model_.output(y);
    wanted.push_back(c.wanted);
  };
  for (const Case& c : cases) {
    const std::string suffix = fmt::format("{}", wanted.size());
    model_.ints("start" + suffix, {c.start});
    model_.ints("end" + suffix, {c.end});
    model_.ints("step" + suffix, {c.step});
    for (const char* x : {"closed", "open"}) slice(x, suffix, c);
  }
  for (const char* x : {"closed", "open"}) slice(x, "", {});
  compile_model();
  for (const Case& c : cases) {
    std::vector<Tensor> all = inputs;
    for (const std::int64_t bound : {c.start, c.end, c.step}) all.push_back(ints({1}, {bound}));
    wanted[wanted.size() - 2] = wanted[wanted.size() - 1] = c.wanted;
    for (exec::Session* s : sessions()) {
      const auto found = s->run(all);
      ASSERT_TRUE(found) << render(found.error());
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_EQ(elements((*found)[i]), wanted[i]);
    }
  }
}

TEST_F(IndicesTest, OfElementsOfFloat16) {
  model_.input("x", {2, 3}, onnx::TensorProto::FLOAT16);
  model_.input("i", {2, 2}, kInt64Type);
  set_int(model_.node("GatherElements", {"x", "i"}, {"y"}, "g"), "axis", 1);
  model_.output("y");
  compile_model();
  const Tensor x = counted({2, 3}, kFloat16);
  expect_refusal({x, ints({2, 2}, {0, 3, 1, 2})}, outside("g", 3, 1, 1, 3));
  expect_result({x, ints({2, 2}, {0, -1, 1, 2})}, {0, 2, 4, 5});
}

TEST_F(IndicesTest, OfTuples) {
  model_.input("x", {2, 3});
  model_.input("i", {2, 2}, kInt64Type);
  model_.node("GatherND", {"x", "i"}, {"y"}, "g");
  model_.output("y");
  compile_model();
  const Tensor x = counted({2, 3});
  expect_refusal({x, ints({2, 2}, {0, 2, 2, 0})}, "the index 2 at element 1 of its indices");
  expect_refusal({x, ints({2, 2}, {0, 3, 1, 0})}, "lies outside of axis 1, which has 3 elements");
  expect_result({x, ints({2, 2}, {0, 2, -1, -3})}, {2, 3});
}

TEST_F(IndicesTest, OfScatteredElements) {
  model_.input("x", {4});
  model_.input("i", {2}, kInt64Type);
  model_.input("u", {2});
  model_.node("ScatterElements", {"x", "i", "u"}, {"y"}, "s");
  model_.output("y");
  compile_model();
  const Tensor x = counted({4}), u = counted({2});
  expect_refusal({x, ints({2}, {1, 4}), u}, outside("s", 4, 1, 0, 4));
  expect_refusal({x, ints({2}, {INT64_MIN, 1}), u}, outside("s", INT64_MIN, 0, 0, 4));
  expect_result({x, ints({2}, {3, -4}), u}, {1, 1, 2, 0});
}

TEST_F(IndicesTest, OfScatteredSlices) {
  model_.input("x", {3, 2});
  model_.input("i", {1, 1}, kInt64Type);
  model_.input("u", {1, 2});
  model_.node("ScatterND", {"x", "i", "u"}, {"y"}, "s");
  model_.output("y");
  compile_model();
  const Tensor x = counted({3, 2}), u = counted({1, 2});
  expect_refusal({x, ints({1, 1}, {-4}), u}, outside("s", -4, 0, 0, 3));
  expect_result({x, ints({1, 1}, {-3}), u}, {0, 1, 2, 3, 4, 5});
}

TEST_F(IndicesTest, OfAClassThatThereIsNot) {
  model_.input("x", {2, 3});
  model_.input("t", {2}, kInt64Type);
  import::set_string(model_.node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"}, "loss"),
                     "reduction", "none");
  model_.output("y");
  compile_model();
  const Tensor x = counted({2, 3});
  expect_refusal({x, ints({2}, {0, 3})}, "the index 3 at element 1 of its indices");
  expect_result({x, ints({2}, {2, 0})}, {-2, -3});
}

// The branch that is not taken may hold what it likes.
TEST_F(IndicesTest, OfABranch) {
  model_.input("c", {}, onnx::TensorProto::BOOL);
  model_.input("x", {3});
  model_.input("i", {1}, kInt64Type);
  auto* node = model_.node("If", {"c"}, {"y"}, "choice");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto* g = add_attribute(node, name, onnx::AttributeProto::GRAPH)->mutable_g();
    const bool yes = std::string_view(name) == "then_branch";
    TestModel::fill(g->add_node(), yes ? "Gather" : "Cast",
                    yes ? std::vector<std::string>{"x", "i"} : std::vector<std::string>{"i"},
                    {yes ? "a" : "b"}, "inner");
    if (!yes) set_int(g->mutable_node(0), "to", onnx::TensorProto::FLOAT);
    g->add_output()->set_name(yes ? "a" : "b");
  }
  model_.output("y");
  compile_model();
  const auto truth = [](bool b) { return tensor_from_ints({}, kBool, Ints{b}); };
  expect_refusal({truth(true), counted({3}), ints({1}, {3})}, "the index 3 at element 0");
  expect_result({truth(false), counted({3}), ints({1}, {3})}, {3});
  expect_result({truth(true), counted({3}), ints({1}, {2})}, {2});
}

TEST_F(IndicesTest, OfALoopsIteration) {
  model_.input("n", {}, kInt64Type);
  model_.input("x", {3});
  model_.input("sum", {});
  auto* loop = model_.node("Loop", {"n", "", "sum"}, {"y"}, "loop");
  auto* g = add_attribute(loop, "body", onnx::AttributeProto::GRAPH)->mutable_g();
  const auto value = [](onnx::ValueInfoProto* v, const std::string& name, int dtype) {
    v->set_name(name);
    v->mutable_type()->mutable_tensor_type()->set_elem_type(dtype);
    v->mutable_type()->mutable_tensor_type()->mutable_shape();
  };
  value(g->add_input(), "iteration", kInt64Type);
  value(g->add_input(), "goes_on", onnx::TensorProto::BOOL);
  value(g->add_input(), "so_far", onnx::TensorProto::FLOAT);
  TestModel::fill(g->add_node(), "Identity", {"goes_on"}, {"again"});
  TestModel::fill(g->add_node(), "Gather", {"x", "iteration"}, {"one"}, "inner");
  TestModel::fill(g->add_node(), "Add", {"so_far", "one"}, {"next"});
  value(g->add_output(), "again", onnx::TensorProto::BOOL);
  value(g->add_output(), "next", onnx::TensorProto::FLOAT);
  model_.output("y");
  compile_model();
  const auto run_inputs = [](std::int64_t n) {
    return std::vector<Tensor>{ints({}, {n}), counted({3}), counted({})};
  };
  expect_refusal(run_inputs(5), "the index 3 at element 0 of its indices lies outside of axis 0");
  expect_result(run_inputs(3), {3});
}

// The only class of a table of one row is 0; random integers are 0 and 1.
TEST_F(IndicesTest, OfAnAxisOfOneElementCanBeVerified) {
  model_.floats("table", {1, 2}, {3, 4});
  model_.input("i", {64}, kInt64Type);
  model_.node("Gather", {"table", "i"}, {"y"}, "g");
  model_.output("y");
  CompileOptions o = options();
  o.verify = true;
  const auto report = compile(o);
  EXPECT_TRUE(report) << render(report.error());
}

TEST_F(IndicesTest, OfWhatNobodyReadsAreNotLookedAt) {
  model_.input("x", {3});
  model_.input("i", {1}, kInt64Type);
  model_.node("Gather", {"x", "i"}, {"unused"}, "g");
  model_.node("Neg", {"x"}, {"y"});
  model_.output("y");
  compile_model();
  expect_result({counted({3}), ints({1}, {9})}, {-0.0, -1, -2});
}

TEST_F(IndicesTest, UncheckedStayInsideAsTheyLike) {
  model_.input("x", {3});
  model_.input("i", {2}, kInt64Type);
  model_.node("Gather", {"x", "i"}, {"y"}, "g");
  model_.output("y");
  CompileOptions o = options();
  o.unchecked_indices = true;
  compile_model(o);
  for (exec::Session* s : sessions()) {
    const auto found = s->run(std::vector<Tensor>{counted({3}), ints({2}, {INT64_MIN, 7})});
    ASSERT_TRUE(found) << render(found.error());
    for (const double v : elements(found->at(0))) EXPECT_TRUE(v >= 0 && v <= 2) << v;
  }
  expect_result({counted({3}), ints({2}, {-1, 1})}, {2, 1});
}

// Many indices are looked at by several threads.
TEST_F(IndicesTest, OfManyAreFoundWhereverTheyStand) {
  constexpr std::int64_t kCount = 1 << 20;
  model_.input("x", {3});
  model_.input("i", {kCount}, kInt64Type);
  model_.node("Gather", {"x", "i"}, {"y"}, "g");
  model_.output("y");
  compile_model();
  for (const std::int64_t bad : {std::int64_t{0}, kCount / 2 + 3, kCount - 1}) {
    Ints values(kCount, 2);
    values[static_cast<std::size_t>(bad)] = 3;
    expect_refusal({counted({3}), ints({kCount}, values)},
                   outside("g", 3, static_cast<int>(bad), 0, 3));
  }
  expect_result({counted({3}), ints({kCount}, Ints(kCount, 2))}, std::vector<double>(kCount, 2));
}

TEST_F(IndicesTest, OfOneInstanceAreNoMatterOfAnother) {
  model_.input("x", {3});
  model_.input("i", {1}, kInt64Type);
  model_.node("Gather", {"x", "i"}, {"y"}, "g");
  model_.output("y");
  compile_model();
  const auto other = value_of(exec::Session::open_library(folder_.file("m.so"), {.threads = 1}));
  int refused = 0, right = 0;
  std::thread failing([&] {
    for (int i = 0; i < 200; ++i) {
      const auto found = exported_->run(std::vector<Tensor>{counted({3}), ints({1}, {3 + i})});
      const auto sentence = fmt::format("the index {} at", 3 + i);
      refused += !found && render(found.error()).find(sentence) != std::string::npos;
    }
  });
  for (int i = 0; i < 200; ++i) {
    const auto found = other->run(std::vector<Tensor>{counted({3}), ints({1}, {i % 3})});
    right += found && elements(found->at(0)) == std::vector<double>{static_cast<double>(i % 3)};
  }
  failing.join();
  EXPECT_EQ(refused, 200);
  EXPECT_EQ(right, 200);
}

}  // namespace
}  // namespace tessera::driver
