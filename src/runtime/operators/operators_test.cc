// SPDX-License-Identifier: Apache-2.0
#include "runtime/operators/operators.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tessera::runtime {
namespace {

constexpr tessera_dtype kF32 = {TESSERA_FLOAT, 32, 1}, kI64 = {TESSERA_INT, 64, 1},
                        kI32 = {TESSERA_INT, 32, 1}, kU8 = {TESSERA_UINT, 8, 1},
                        kF16 = {TESSERA_FLOAT, 16, 1};

// A tensor with its data.
struct Value {
  template <class T>
  Value(tessera_dtype dtype, std::vector<std::int64_t> dims, const std::vector<T>& values)
      : shape(std::move(dims)), bytes(values.size() * sizeof(T)) {
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    tensor = {bytes.data(),
              {TESSERA_CPU, 0},
              static_cast<int>(shape.size()),
              dtype,
              shape.data(),
              nullptr,
              0};
  }
  Value(const Value&) = delete;
  template <class T>
  std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<std::int64_t> shape;
  std::vector<char> bytes;
  tessera_tensor tensor;
};

// Runs `fn` with these attributes, once with known shapes and once with unknown ones. Empty: no
// error.
class OperatorTest : public ::testing::Test {
 protected:
  std::string run(tessera_backend_fn fn, const std::string& attrs, std::vector<Value*> values,
                  const std::string& shape = "[[[-1]]]") {
    const std::string graph =
        R"({"nodes": [{"op": "input", "name": "x", "attrs": {"shape": )" + shape +
        R"(}}, {"op": "kernel", "name": "f", "inputs": [[0, 0, 0]], "attrs": {)" + attrs +
        R"(}}], "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2]})";
    const tessera_artifact_view artifact = {"f", graph.data(), graph.size(), nullptr, 0};
    tessera_state_args args = {};
    args.threads = 2;
    args.artifacts = &artifact;
    args.set_error = [](const tessera_state_args*, const char* text) { FAIL() << text; };
    tessera_states states = {};
    if (tessera_operator_create(&args, &states.call_site) != 0) return "not created";
    tessera_call call = {};
    call.threads = 2;
    call.states = &states;
    std::string message;
    call.runtime = &message;
    call.set_error = [](const tessera_call* c, const char* text) {
      *static_cast<std::string*>(c->runtime) = text;
    };
    std::vector<tessera_tensor*> tensors;
    for (Value* v : values) tensors.push_back(&v->tensor);
    const int status = fn(&call, tensors.data(), static_cast<int>(tensors.size()));
    EXPECT_EQ(status != 0, !message.empty());
    tessera_operator_destroy(states.call_site);
    return message;
  }
};

TEST_F(OperatorTest, PlacesOfWhatIsNotZero) {
  Value x(kF32, {2, 3}, std::vector<float>{0, -0.0F, 2, NAN, 0, -1});
  Value rows(kI32, {3, 2}, std::vector<std::int32_t>(6));
  EXPECT_EQ(run(tessera_argwhere, "", {&x, &rows}), "");
  EXPECT_EQ(rows.as<std::int32_t>(), (std::vector<std::int32_t>{0, 2, 1, 0, 1, 2}));
  Value flags(kU8, {4}, std::vector<std::uint8_t>{0, 0, 0, 7});
  Value one(kI32, {1, 1}, std::vector<std::int32_t>(1));
  EXPECT_EQ(run(tessera_argwhere, "", {&flags, &one}), "");
  EXPECT_EQ(one.as<std::int32_t>(), (std::vector<std::int32_t>{3}));
  Value few(kI32, {2, 2}, std::vector<std::int32_t>(4));
  EXPECT_NE(run(tessera_argwhere, "", {&x, &few}), "");
}

TEST_F(OperatorTest, TheLastUpdateOfASliceWins) {
  Value x(kF32, {3, 2}, std::vector<float>{1, 2, 3, 4, 5, 6});
  Value at(kI64, {1, 4}, std::vector<std::int64_t>{2, 0, -1, 7});  // one outside names nothing
  Value updates(kF32, {4, 2}, std::vector<float>{10, 20, 30, 40, 50, 60, 70, 80});
  Value y(kF32, {3, 2}, std::vector<float>(6));
  EXPECT_EQ(run(tessera_scatter_nd, R"("mode": [["update"]])", {&x, &at, &updates, &y}), "");
  EXPECT_EQ(y.as<float>(), (std::vector<float>{30, 40, 3, 4, 50, 60}));
  EXPECT_EQ(run(tessera_scatter_nd, R"("mode": [["add"]])", {&x, &at, &updates, &y}), "");
  EXPECT_EQ(y.as<float>(), (std::vector<float>{31, 42, 3, 4, 65, 86}));
  Value few(kF32, {3, 2}, std::vector<float>(6));
  EXPECT_NE(run(tessera_scatter_nd, "", {&x, &at, &few, &y}), "");
}

TEST_F(OperatorTest, ElementsAreScatteredAlongAnAxis) {
  Value x(kU8, {2, 3}, std::vector<std::uint8_t>{1, 2, 3, 4, 5, 250});
  Value at(kI32, {2, 2}, std::vector<std::int32_t>{1, -2, 1, 0});
  Value updates(kU8, {2, 2}, std::vector<std::uint8_t>{10, 20, 30, 40});
  Value y(kU8, {2, 3}, std::vector<std::uint8_t>(6));
  const std::string first = R"("axis": [["0"]], "reduction": [[")";
  EXPECT_EQ(run(tessera_scatter_elements, first + R"(update"]])", {&x, &at, &updates, &y}), "");
  EXPECT_EQ(y.as<std::uint8_t>(), (std::vector<std::uint8_t>{1, 40, 3, 30, 5, 250}));
  EXPECT_EQ(run(tessera_scatter_elements, first + R"(max"]])", {&x, &at, &updates, &y}), "");
  EXPECT_EQ(y.as<std::uint8_t>(), (std::vector<std::uint8_t>{1, 40, 3, 30, 5, 250}));
  Value last(kI32, {2, 2}, std::vector<std::int32_t>{2, 2, 2, 0});
  const std::string along = R"("axis": [["-1"]], "reduction": [["add"]])";
  EXPECT_EQ(run(tessera_scatter_elements, along, {&x, &last, &updates, &y}), "");
  EXPECT_EQ(y.as<std::uint8_t>(), (std::vector<std::uint8_t>{1, 2, 33, 44, 5, 24}));
  EXPECT_NE(run(tessera_scatter_elements, R"("axis": [["2"]])", {&x, &last, &updates, &y}), "");
}

TEST_F(OperatorTest, AScatteredNanStays) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Value x(kF32, {3}, std::vector<float>{nan, 1, 1});
  Value at(kI64, {1, 3}, std::vector<std::int64_t>{0, 1, 2});
  Value updates(kF32, {3}, std::vector<float>{5, nan, -5}), y(kF32, {3}, std::vector<float>(3));
  EXPECT_EQ(run(tessera_scatter_nd, R"("mode": [["min"]])", {&x, &at, &updates, &y}), "");
  const auto found = y.as<float>();
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
  EXPECT_EQ(found[2], -5);
}

TEST_F(OperatorTest, TopKTakesTheLargestAlongAnAxis) {
  Value x(kF32, {2, 3, 2}, std::vector<float>{1, 9, 5, 7, 3, 8, -1, -2, -3, -4, -2, -2});
  Value values(kF32, {2, 2, 2}, std::vector<float>(8)),
      indices(kI64, {2, 2, 2}, std::vector<std::int64_t>(8));
  EXPECT_EQ(run(tessera_topk, R"("k": [["2"]], "axis": [["1"]], "ret_type": [["both"]])",
                {&x, &values, &indices}, "[[[2, 3, 2]]]"),
            "");
  EXPECT_EQ(values.as<float>(), (std::vector<float>{5, 9, 3, 8, -1, -2, -2, -2}));
  EXPECT_EQ(indices.as<std::int64_t>(), (std::vector<std::int64_t>{1, 0, 2, 2, 0, 0, 2, 2}));
}

TEST_F(OperatorTest, TopKOfTheSmallestWithOneResult) {
  Value x(kU8, {5}, std::vector<std::uint8_t>{200, 3, 7, 3, 255});
  Value values(kU8, {3}, std::vector<std::uint8_t>(3)),
      indices(kI32, {3}, std::vector<std::int32_t>(3));
  const std::string attrs = R"("k": [["3"]], "is_ascend": [["1"]], "ret_type": [[")";
  EXPECT_EQ(run(tessera_topk, attrs + R"(values"]])", {&x, &values}), "");
  EXPECT_EQ(run(tessera_topk, attrs + R"(indices"]])", {&x, &indices}), "");
  EXPECT_EQ(values.as<std::uint8_t>(), (std::vector<std::uint8_t>{3, 3, 7}));
  EXPECT_EQ(indices.as<std::int32_t>(), (std::vector<std::int32_t>{1, 3, 2}));  // equal: in order
  EXPECT_NE(run(tessera_topk, attrs + R"(both"]])", {&x, &values}), "");
}

TEST_F(OperatorTest, SortPutsNanLast) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Value x(kF32, {6}, std::vector<float>{2, nan, -1, INFINITY, nan, 0});
  Value sorted(kF32, {6}, std::vector<float>(6)), order(kI32, {6}, std::vector<std::int32_t>(6));
  EXPECT_EQ(run(tessera_sort, R"("axis": [["0"]])", {&x, &sorted}), "");
  EXPECT_EQ(run(tessera_argsort, R"("axis": [["0"]])", {&x, &order}), "");
  EXPECT_EQ(order.as<std::int32_t>(), (std::vector<std::int32_t>{2, 5, 0, 3, 1, 4}));
  EXPECT_EQ(sorted.as<float>()[3], INFINITY);
  EXPECT_TRUE(std::isnan(sorted.as<float>()[4]));
}

TEST_F(OperatorTest, SortsHalfFloatsByValue) {
  // -inf, -2, -0.5, 2^-24 (subnormal), 1, 65504
  const std::vector<std::uint16_t> ascending = {0xfc00, 0xc000, 0xb800, 0x0001, 0x3c00, 0x7bff};
  Value x(kF16, {6}, std::vector<std::uint16_t>{0x3c00, 0xc000, 0x7bff, 0x0001, 0xfc00, 0xb800});
  Value sorted(kF16, {6}, std::vector<std::uint16_t>(6));
  EXPECT_EQ(run(tessera_sort, R"("axis": [["-1"]])", {&x, &sorted}), "");
  EXPECT_EQ(sorted.as<std::uint16_t>(), ascending);
}

TEST_F(OperatorTest, SortRefusesAnAxisThatIsNotThere) {
  Value x(kF32, {2}, std::vector<float>(2)), y(kF32, {2}, std::vector<float>(2));
  EXPECT_EQ(run(tessera_sort, R"("axis": [["1"]])", {&x, &y}), "sort: there is no such axis");
}

// ONNX's own example test_nonmaxsuppression_two_classes.
TEST_F(OperatorTest, NonMaxSuppressionOfTwoClasses) {
  Value boxes(kF32, {1, 6, 4},
              std::vector<float>{0, 0,  1, 1,  0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                                 0, 10, 1, 11, 0, 10.1f, 1, 11.1f, 0, 100,   1, 101});
  Value scores(kF32, {1, 2, 6},
               std::vector<float>{0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f, 0.9f, 0.75f, 0.6f, 0.95f,
                                  0.5f, 0.3f});
  Value max_boxes(kI64, {}, std::vector<std::int64_t>{2});
  Value iou(kF32, {}, std::vector<float>{0.5f}), score(kF32, {}, std::vector<float>{0});
  Value rows(kI64, {12, 3}, std::vector<std::int64_t>(36, 5)),
      count(kI64, {1}, std::vector<std::int64_t>(1));
  EXPECT_EQ(run(tessera_non_max_suppression, "",
                {&boxes, &scores, &max_boxes, &iou, &score, &rows, &count}),
            "");
  EXPECT_EQ(count.as<std::int64_t>()[0], 4);
  std::vector<std::int64_t> expected(36, 0);
  const std::int64_t first[] = {0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0};
  std::copy(std::begin(first), std::end(first), expected.begin());
  EXPECT_EQ(rows.as<std::int64_t>(), expected);
}

TEST_F(OperatorTest, NonMaxSuppressionOfIdenticalAndPoorBoxes) {
  Value boxes(kF32, {1, 3, 4},
              std::vector<float>{0, 0, 1, 1, 1, 1, 0, 0, 5, 5, 6, 6});  // the second is flipped
  Value scores(kF32, {1, 1, 3}, std::vector<float>{0.5f, 0.5f, 0.1f});
  Value max_boxes(kI64, {}, std::vector<std::int64_t>{3});
  Value iou(kF32, {}, std::vector<float>{0.5f}), score(kF32, {}, std::vector<float>{0.2f});
  Value rows(kI64, {3, 3}, std::vector<std::int64_t>(9)),
      count(kI64, {1}, std::vector<std::int64_t>(1));
  EXPECT_EQ(run(tessera_non_max_suppression, "",
                {&boxes, &scores, &max_boxes, &iou, &score, &rows, &count}, "[[[1, 3, 4]]]"),
            "");
  EXPECT_EQ(count.as<std::int64_t>()[0], 1);
  EXPECT_EQ(rows.as<std::int64_t>()[2], 0);
}

// Pairs that agree with each other give back what they are of.
TEST_F(OperatorTest, ProbabilitiesOfPairsAreThoseOfTheirClasses) {
  Value pairs(kF32, {2, 3},
              std::vector<float>{0.5F / 0.8F, 0.5F / 0.7F, 0.3F / 0.5F, 0.5F, 0.5F, 0.5F});
  Value classes(kF32, {2, 3}, std::vector<float>(6));
  EXPECT_EQ(run(tessera_pairwise_coupling, "", {&pairs, &classes}), "");
  const std::vector<float> found = classes.as<float>(),
                           wanted = {0.5F, 0.3F, 0.2F, 1 / 3.F, 1 / 3.F, 1 / 3.F};
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 0.01) << i;
  EXPECT_NEAR(found[0] + found[1] + found[2], 1, 1e-5);
  Value four(kF32, {2, 4}, std::vector<float>(8));
  EXPECT_EQ(run(tessera_pairwise_coupling, "", {&pairs, &four}),
            "pairwise_coupling: another number of pairs than of classes");
}

TEST_F(OperatorTest, ABrokenGraphIsAnError) {
  const tessera_artifact_view artifact = {"f", "{", 1, nullptr, 0};
  tessera_state_args args = {};
  args.threads = 1;
  args.artifacts = &artifact;
  std::string message;
  args.runtime = &message;
  args.set_error = [](const tessera_state_args* a, const char* text) {
    *static_cast<std::string*>(a->runtime) = text;
  };
  void* state = nullptr;
  EXPECT_NE(tessera_operator_create(&args, &state), 0);
  EXPECT_EQ(message, "JSON, byte 1: the text ends inside of a value");
}

}  // namespace
}  // namespace tessera::runtime
