// SPDX-License-Identifier: Apache-2.0
// Attributes, sizes and data that lead out of tensors or out of 64 bits: inference refuses them, or
// the evaluation fails; neither touches what is not theirs (the sanitizers look on).
#include <cmath>

#include <gtest/gtest.h>

#include "ops/evaluation/evaluate.h"
#include "ops/evaluation/evaluate_call.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"

namespace tessera::ops {
namespace {

using relay::AttrArray;
using relay::Attrs;
using relay::NodeId;

constexpr std::int64_t kLeast = INT64_MIN, kMost = INT64_MAX, kFar = std::int64_t{1} << 60;

Tensor f32(Ints shape) {
  std::int64_t count = 1;
  for (const std::int64_t n : shape) count *= n;
  return tensor_from_doubles(std::move(shape), kFloat32,
                             std::vector<double>(static_cast<std::size_t>(count), 1));
}
Tensor i64(Ints shape, const Ints& values) {
  return tensor_from_ints(std::move(shape), kInt64, values);
}

// One call on constants, inferred and evaluated.
Result<std::vector<Tensor>> attempt(std::string_view name, const std::vector<Tensor>& operands,
                                    Attrs attrs = {}) {
  relay::FunctionBuilder b;
  std::vector<NodeId> args;
  for (const Tensor& t : operands) args.push_back(b.constant(t));
  if (op(name).takes_tuples) args = {b.tuple(args)};
  TESSERA_TRY(const relay::Function f,
              infer_types(b.finish(b.call(op(name), args, std::move(attrs)))));
  const auto& call = *f.as<relay::OpCall>(f.result());
  return evaluate_call(*call.op, {operands, call.attrs, f.type(f.result())});
}

std::string code_of(const Result<std::vector<Tensor>>& result) {
  return result ? "" : std::string(code_text(result.error().list[0].code));
}

TEST(HostileCall, UpdatesOutsideAreFailures) {
  for (const std::int64_t at : {std::int64_t{4}, std::int64_t{-5}, kFar, kMost, kLeast}) {
    SCOPED_TRACE(at);
    EXPECT_EQ(code_of(attempt("scatter_nd", {f32({4}), i64({1, 1}, {at}), f32({1})})), "E0603");
    EXPECT_EQ(code_of(attempt("scatter_nd", {f32({4, 2}), i64({1, 1}, {at}), f32({1, 2})})),
              "E0603");
    EXPECT_EQ(code_of(attempt("scatter_elements", {f32({4}), i64({1}, {at}), f32({1})})), "E0603");
  }
  for (const std::int64_t at : {-4, 3}) {
    EXPECT_TRUE(attempt("scatter_nd", {f32({4}), i64({1, 1}, {at}), f32({1})}));
    EXPECT_TRUE(attempt("scatter_elements", {f32({4}), i64({1}, {at}), f32({1})}));
  }
}

// Reading outside gives the nearest element, or a failure: nothing of the heap.
TEST(HostileCall, ReadsStayInside) {
  for (const std::int64_t at : {std::int64_t{4}, std::int64_t{-5}, kFar, kMost, kLeast}) {
    SCOPED_TRACE(at);
    for (const auto& result : {attempt("gather", {f32({4}), i64({1}, {at})}, {{"axis", 0}}),
                               attempt("gather_nd", {f32({4}), i64({1, 1}, {at})}),
                               attempt("take", {f32({4}), i64({1}, {at})}, {{"axis", 0}}),
                               attempt("reverse_sequence", {f32({2, 4}), i64({2}, {at, at})},
                                       {{"seq_axis", 1}, {"batch_axis", 0}})}) {
      if (!result) {
        EXPECT_EQ(code_of(result), "E0603");
        continue;
      }
      const auto values = values_of<double>(result->front());
      for (const double v : values) EXPECT_EQ(v, 1);
    }
  }
}

TEST(HostileCall, IndicesBesideTheAxisAreCovered) {
  const Tensor index = i64({3, 1}, {0, 0, 0});
  EXPECT_EQ(code_of(attempt("gather", {f32({2, 2}), index}, {{"axis", 1}})), "E0203");
  EXPECT_EQ(code_of(attempt("scatter_elements", {f32({2, 2}), index, f32({3, 1})}, {{"axis", 1}})),
            "E0203");
  EXPECT_TRUE(attempt("gather", {f32({2, 2}), index}, {{"axis", 0}}));
  EXPECT_TRUE(attempt("gather", {f32({3, 2}), index}, {{"axis", 1}}));
}

TEST(HostileCall, WindowsAreCheckedBeforeTheyAreRead) {
  const Tensor x = f32({1, 1, 4, 4}), w = f32({1, 1, 2, 2});
  const AttrArray one{1}, none{}, ones{1, 1};
  for (const std::string transposed : {"", "_transpose"}) {
    SCOPED_TRACE(transposed);
    const std::string conv = "nn.conv2d" + transposed;
    for (const char* list : {"strides", "dilation"}) {
      for (const AttrArray& value :
           {one, none, AttrArray{1, 1, 1}, AttrArray{0, 1}, AttrArray{-1, 1}, AttrArray{kFar, 1},
            AttrArray{kLeast, kLeast}, AttrArray{1, kMost}}) {
        EXPECT_EQ(code_of(attempt(conv, {x, w}, {{list, value}})), "E0208") << list;
      }
    }
    for (const AttrArray& value : {none, AttrArray{1, 1, 1}, AttrArray{kFar}, AttrArray{kLeast},
                                   AttrArray{0, 0, 0, std::int64_t{1} << 31}}) {
      EXPECT_EQ(code_of(attempt(conv, {x, w}, {{"padding", value}})), "E0208");
    }
    for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{-1}, kFar, kLeast}) {
      EXPECT_NE(code_of(attempt(conv, {x, w}, {{"groups", groups}})), "") << groups;
    }
    for (const char* layout : {"", "N", "NC", "NCHWDX", "NCXDHW", "NCCH", "NCH"}) {
      EXPECT_NE(code_of(attempt(conv, {x, w}, {{"data_layout", layout}})), "") << layout;
      EXPECT_NE(code_of(attempt(conv, {x, w}, {{"kernel_layout", layout}})), "") << layout;
    }
  }
  EXPECT_EQ(code_of(attempt("nn.conv2d_transpose", {x, w}, {{"output_padding", one}})), "E0208");
  for (const char* pool : {"nn.max_pool2d", "nn.avg_pool2d"}) {
    for (const AttrArray& size :
         {one, none, AttrArray{0, 0}, AttrArray{-1, 2}, AttrArray{kFar, 1}}) {
      EXPECT_NE(code_of(attempt(pool, {x}, {{"pool_size", size}})), "") << pool;
    }
    EXPECT_EQ(code_of(attempt(
                  pool, {x}, {{"pool_size", ones}, {"padding", AttrArray{std::int64_t{1} << 31}}})),
              "E0208");
    EXPECT_NE(code_of(attempt(pool, {f32({})}, {{"pool_size", none}, {"layout", ""}})), "");
  }
}

TEST(HostileCall, SizesStayWithin64Bits) {
  const Tensor x = f32({2, 3});
  const AttrArray most{kMost, kMost};
  for (const std::int64_t n : {kFar, kMost, kLeast, std::int64_t{-1}}) {
    SCOPED_TRACE(n);
    EXPECT_NE(code_of(attempt("repeat", {x}, {{"repeats", n}})), "");
    EXPECT_NE(code_of(attempt("tile", {x}, {{"reps", AttrArray{n, n}}})), "");
    EXPECT_NE(code_of(attempt("split", {f32({0})}, {{"indices_or_sections", n}})), "");
    EXPECT_NE(code_of(attempt("expand_dims", {x}, {{"axis", 0}, {"num_newaxis", n}})), "");
    EXPECT_NE(code_of(attempt("full", {f32({})}, {{"shape", AttrArray{n, n}}})), "");
    EXPECT_NE(
        code_of(attempt("one_hot", {i64({1}, {0}), f32({}), f32({})}, {{"depth", n}, {"axis", 7}})),
        "");
    EXPECT_NE(code_of(attempt("nn.depth_to_space", {f32({1, 4, 2, 2})}, {{"block_size", n}})), "");
    EXPECT_NE(code_of(attempt("nn.space_to_depth", {f32({1, 4, 2, 2})}, {{"block_size", n}})), "");
    EXPECT_NE(code_of(attempt("image.resize", {x}, {{"size", AttrArray{n, n}}})), "");
    const auto cut = attempt("strided_slice", {x},
                             {{"begin", AttrArray{n, n}},
                              {"end", AttrArray{-1 - n, n}},
                              {"strides", AttrArray{1, 1}},
                              {"axes", AttrArray{0, 1}}});
    EXPECT_TRUE(cut || code_of(cut).starts_with("E02"));
    const auto stepped = attempt("strided_slice", {x},
                                 {{"begin", AttrArray{0}},
                                  {"end", AttrArray{2}},
                                  {"strides", AttrArray{n}},
                                  {"axes", AttrArray{0}}});
    EXPECT_TRUE(stepped || code_of(stepped) == "E0208");
    const auto padded = attempt("nn.pad", {x, f32({})},
                                {{"pad_width", AttrArray{AttrArray{n, -1 - n}, AttrArray{0, 0}}}});
    EXPECT_TRUE(padded || code_of(padded).starts_with("E02"));
  }
  EXPECT_NE(code_of(attempt("reshape", {x}, {{"newshape", most}, {"allowzero", true}})), "");
  EXPECT_NE(code_of(attempt("broadcast_to", {f32({1})}, {{"shape", most}})), "");
}

TEST(HostileCall, RangesOfAnyNumbers) {
  const auto number = [](double v) { return tensor_from_doubles({}, kFloat32, std::vector{v}); };
  for (const double v : {1e30, -1e30, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    SCOPED_TRACE(v);
    for (const auto& result : {attempt("arange", {number(v), number(0), number(1)}),
                               attempt("arange", {number(0), number(v), number(1)}),
                               attempt("arange", {number(0), number(1), number(v)})}) {
      EXPECT_TRUE(result || code_of(result).starts_with("E0"));
    }
  }
  EXPECT_EQ(code_of(attempt("arange", {f32({1}), f32({1}), f32({1})})), "E0203");
  EXPECT_TRUE(attempt("arange", {i64({}, {kMost - 1}), i64({}, {kMost}), i64({}, {1})}));
}

TEST(HostileCall, ATensorHasAtMost64Dimensions) {
  const AttrArray ones(65, relay::AttrValue(1)), fewer(64, relay::AttrValue(1));
  for (const char* attribute : {"tile", "reshape", "broadcast_to"}) {
    const char* name = attribute == std::string("tile")      ? "reps"
                       : attribute == std::string("reshape") ? "newshape"
                                                             : "shape";
    EXPECT_EQ(code_of(attempt(attribute, {f32({1})}, {{name, ones}})), "E0213") << attribute;
    EXPECT_TRUE(attempt(attribute, {f32({1})}, {{name, fewer}})) << attribute;
  }
  EXPECT_EQ(code_of(attempt("expand_dims", {f32({1})}, {{"axis", 0}, {"num_newaxis", 64}})),
            "E0213");
}

TEST(HostileCall, EquationsOfAnyText) {
  const Tensor x = f32({2, 2});
  for (const std::string text : {"", "->", "i", "ij->ii", "ij->k", "...->", "i...j...->",
                                 "\xff\xff->\xff", "ij,jk->ik", "0j->j", "....", "ij->..."}) {
    const auto result = attempt("einsum", {x}, {{"equation", text}});
    EXPECT_TRUE(result || code_of(result) == "E0208") << text;
  }
  EXPECT_NE(code_of(attempt("einsum", {x}, {{"equation", std::string(100000, 'i')}})), "");
}

TEST(HostileCall, ArithmeticOfIntegersIsDefined) {
  const Tensor x = i64({4}, {kLeast, kMost, -1, 0});
  for (const char* name : {"divide", "floor_divide", "mod", "floor_mod", "power", "add", "subtract",
                           "multiply", "left_shift", "right_shift"}) {
    for (const std::int64_t v : {kLeast, kMost, std::int64_t{-1}, std::int64_t{0}}) {
      EXPECT_TRUE(attempt(name, {x, i64({}, {v})})) << name;
    }
  }
  for (const char* name : {"negative", "abs", "sign"}) EXPECT_TRUE(attempt(name, {x})) << name;
  EXPECT_TRUE(attempt("nn.global_avg_pool2d", {tensor_from_ints({1, 2, 0, 3}, kInt64, {})}));
  EXPECT_TRUE(attempt("clip", {x}, {{"a_min", -1e300}, {"a_max", 1e300}}));
  EXPECT_TRUE(attempt("mean", {tensor_from_ints({0, 2}, kInt64, {})}, {{"axis", AttrArray{0}}}));
}

TEST(HostileCall, AWindowOfLrnEndsWithTheTensor) {
  EXPECT_TRUE(attempt("nn.lrn", {f32({2, 3})}, {{"size", kMost}}));
  EXPECT_EQ(code_of(attempt("nn.lrn", {f32({2, 3})}, {{"size", 0}})), "E0208");
}

// The cost is what a budget is taken from: not less than what is looped over.
TEST(EvaluationCost, CountsWhatIsLoopedOver) {
  const auto cost = [](std::string_view name, const std::vector<Type>& types, Attrs attrs) {
    relay::FunctionBuilder b;
    std::vector<NodeId> args;
    for (const Type& t : types) args.push_back(b.param("x", t));
    const auto f = infer_types(b.finish(b.call(op(name), args, std::move(attrs)))).value();
    const auto& call = *f.as<relay::OpCall>(f.result());
    return evaluation_cost(*call.op, types, call.attrs, f.type(f.result()));
  };
  const auto f32_of = [](Shape shape) { return tensor_type(std::move(shape), kFloat32); };
  const Dim wide = std::int64_t{1} << 14;
  EXPECT_GE(cost("nn.matmul", {f32_of({wide, wide}), f32_of({wide, wide})},
                 {{"units", relay::AttrValue()}})
                .work,
            std::pow(2.0, 42));
  EXPECT_GE(cost("nn.max_pool2d", {f32_of({1, 1, 30000, 30000})},
                 {{"pool_size", AttrArray{15000, 15000}}})
                .work,
            std::pow(15000.0, 4));
  EXPECT_GE(cost("sum", {f32_of({wide, wide})}, {}).work, std::pow(2.0, 28));
  EXPECT_EQ(cost("broadcast_to", {f32_of({1})}, {{"shape", AttrArray{1024, 1024}}}).bytes,
            4.0 * 1024 * 1024);
}

}  // namespace
}  // namespace tessera::ops
