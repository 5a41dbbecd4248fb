// SPDX-License-Identifier: Apache-2.0
// Type inference: what operators accept, how they refuse, and how types travel through a function.
#include <chrono>

#include <gtest/gtest.h>

#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "support/testing/near_linear.h"

namespace tessera::ops {
namespace {

using relay::Attrs;
using relay::FunctionBuilder;
using relay::NodeId;

Type f32(Shape shape) { return tensor_type(std::move(shape), kFloat32); }

// The inferred result of one call, as text; or the first finding.
std::string infer_call(std::string_view name, const std::vector<Type>& operands, Attrs attrs = {}) {
  FunctionBuilder b;
  std::vector<NodeId> args;
  for (const Type& t : operands) args.push_back(b.param("x", t));
  const NodeId call = b.call(op(name), args, std::move(attrs));
  const auto typed = infer_types(b.finish(call));
  if (!typed)
    return std::string(code_text(typed.error().list[0].code)) + ": " +
           typed.error().list[0].message;
  return to_string(typed->type(typed->result()));
}

TEST(Infer, BroadcastsAsNumpyDoes) {
  EXPECT_EQ(infer_call("add", {f32({2, 1, 4}), f32({3, 1})}), "Tensor[(2, 3, 4), float32]");
  EXPECT_EQ(infer_call("less", {f32({}), f32({0})}), "Tensor[(0), bool]");
  EXPECT_EQ(infer_call("add", {f32({2, 3}), f32({2, 4})}),
            "E0203: `add` shapes do not broadcast: (2, 3) vs (2, 4)");
  EXPECT_EQ(infer_call("add", {f32({2}), tensor_type({2}, kFloat16)}),
            "E0204: `add` operand types differ: float32 vs float16");
}

TEST(Infer, SymbolicAndUnknownSizes) {
  const Dim seq = Dim::symbol("seq");
  EXPECT_EQ(infer_call("add", {f32({seq, 4}), f32({seq, 1})}), "Tensor[(?seq, 4), float32]");
  EXPECT_EQ(infer_call("add", {f32({seq}), f32({8})}), "Tensor[(8), float32]");
  EXPECT_EQ(infer_call("add", {f32({seq}), f32({Dim::unknown()})}), "Tensor[(?), float32]");
  EXPECT_EQ(infer_call("reshape", {f32({seq, 768})}, {{"newshape", relay::AttrArray{0, 12, 64}}}),
            "Tensor[(?seq, 12, 64), float32]");
  EXPECT_EQ(infer_call("reshape", {f32({seq, 12, 64})}, {{"newshape", relay::AttrArray{-1, 768}}}),
            "Tensor[(?seq, 768), float32]");
  EXPECT_EQ(infer_call("nn.dense", {f32({seq, 5}), f32({7, 5})}, {{"units", 7}}),
            "Tensor[(?seq, 7), float32]");
  EXPECT_EQ(infer_call("nn.dense", {f32({2, seq}), f32({7, 5})}, {{"units", 7}}),
            "Tensor[(2, 7), float32]");
  EXPECT_EQ(
      infer_call("nn.max_pool2d", {f32({1, 3, seq, 8})},
                 {{"pool_size", relay::AttrArray{2, 2}}, {"strides", relay::AttrArray{2, 2}}}),
      "Tensor[(1, 3, ?(floordiv(seq, 2)), 4), float32]");
}

TEST(Infer, ProductsNameWhatDiffers) {
  EXPECT_EQ(infer_call("nn.dense", {f32({2, 768}), f32({4, 1024})}, {{"units", 4}}),
            "E0203: `nn.dense` contraction sizes differ: 768 vs 1024");
  EXPECT_EQ(infer_call("nn.dense", {f32({2, 8}), f32({4, 8})}, {{"units", 5}}),
            "E0203: `nn.dense` units and columns of the weight differ: 5 vs 4");
  EXPECT_EQ(infer_call("nn.batch_matmul", {f32({2, 3}), f32({2, 3, 4})}),
            "E0203: `nn.batch_matmul` needs operand 1 of rank 3, found Tensor[(2, 3), float32]");
}

TEST(Infer, ConvolutionsNameWhatDiffers) {
  EXPECT_EQ(infer_call("nn.conv2d", {f32({1, 3, 8, 8}), f32({4, 2, 3, 3})}),
            "E0203: `nn.conv2d` input channels differ: data has 3, weight takes 2 in 1 groups");
  EXPECT_EQ(infer_call("nn.conv2d", {f32({1, 3, 2, 8}), f32({4, 3, 3, 3})}),
            "E0203: `nn.conv2d` window reaches over 3 elements, the padded operand has 2");
  EXPECT_EQ(
      infer_call("nn.conv2d", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})}, {{"data_layout", "NCHX"}}),
      "E0208: `nn.conv2d` has layout \"NCHX\"; it must be an order of NCHW");
  EXPECT_EQ(infer_call("nn.conv2d", {f32({1, 3, 8, 8}), f32({4, 3, 3, 3})},
                       {{"kernel_size", relay::AttrArray{5, 5}}}),
            "E0203: `nn.conv2d` has kernel_size [5, 5] and a weight of shape (4, 3, 3, 3)");
}

TEST(Infer, MovementNamesTheRule) {
  EXPECT_EQ(infer_call("reshape", {f32({2, 3})}, {{"newshape", relay::AttrArray{4, -1}}}),
            "E0203: `reshape` cannot give (2, 3) the shape [4, -1]: 6 elements");
  EXPECT_EQ(infer_call("transpose", {f32({2, 3})}, {{"axes", relay::AttrArray{0, 0}}}),
            "E0208: `transpose` names axis 0 twice");
  const Type two = tensor_type({Dim(2)}, kInt64), none = tensor_type({Dim(0)}, kInt64);
  EXPECT_EQ(infer_call("take", {f32({3, 0}), two}, {{"axis", 1}}),
            "E0203: `take` takes from axis 1, which has no element");
  EXPECT_EQ(infer_call("take", {f32({3, 0}), two}),
            "E0203: `take` takes from a tensor without elements");
  EXPECT_EQ(infer_call("take", {f32({3, 0}), none}, {{"axis", 1}}), "Tensor[(3, 0), float32]");
  EXPECT_EQ(infer_call("squeeze", {f32({2, 3})}, {{"axis", relay::AttrArray{0}}}),
            "E0203: `squeeze` cannot drop dimension 0 of (2, 3): it is not 1");
  EXPECT_EQ(infer_call("nn.softmax", {f32({2, 3})}, {{"axis", 2}}),
            "E0208: `nn.softmax` axis 2 is outside of a tensor of rank 2");
  EXPECT_EQ(infer_call("split", {f32({5})}, {{"indices_or_sections", 2}}),
            "E0203: `split` cannot split 5 elements into 2 equal parts");
}

TEST(Infer, OperandsAreCountedAndAreTensors) {
  EXPECT_EQ(infer_call("add", {f32({2})}), "E0207: `add` takes 2 operands, found 1");
  EXPECT_EQ(infer_call("nn.relu", {tuple_type({f32({2})})}),
            "E0212: operand 1 of `nn.relu` has type (Tensor[(2), float32],), it must be a tensor");
  EXPECT_EQ(infer_call("exp", {tensor_type({2}, kInt32)}),
            "E0204: `exp` needs a floating-point operand, found int32");
}

TEST(Infer, SizesThatNoMemoryHoldsAreRefused) {
  const std::string found = infer_call("tile", {f32({std::int64_t{1} << 40})},
                                       {{"reps", relay::AttrArray{std::int64_t{1} << 30}}});
  EXPECT_EQ(found.substr(0, 5), "E0213") << found;
}

TEST(Infer, ConstantsReachInference) {
  FunctionBuilder b;
  const auto number = [&](std::int64_t v) { return b.constant(Tensor::scalar(v, kInt64)); };
  const NodeId range = b.call(op("arange"), {number(2), number(9), number(3)});
  const auto typed = infer_types(b.finish(range));
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(to_string(typed->type(typed->result())), "Tensor[(3), int64]");
}

TEST(Infer, WhatRemainsOfAShapeIsWhole) {
  FunctionBuilder b;
  const std::int64_t rest[] = {0, -1, 2};
  const NodeId list = b.constant(tensor_from_ints({3}, kInt64, rest));
  const auto typed =
      infer_types(b.finish(b.call(op("dyn.reshape"), {b.param("x", f32({2, 3})), list})));
  ASSERT_FALSE(typed.has_value());
  EXPECT_EQ(typed.error().list[0].message, "`dyn.reshape` cannot give (2, 3) the shape (2, 1, 2)");
}

// s elements in s rows leave 1 to a row, and none where s is 0.
TEST(Infer, WhatRemainsOfAnOpenShapeMayBeNothing) {
  FunctionBuilder b;
  const std::int64_t rest[] = {0, -1, 2};
  const NodeId list = b.constant(tensor_from_ints({3}, kInt64, rest));
  const NodeId x = b.param("x", tensor_type({Dim::symbol("s"), 2}, kFloat32));
  const auto typed = infer_types(b.finish(b.call(op("dyn.reshape"), {x, list})));
  ASSERT_TRUE(typed.has_value()) << render(typed.error());
  const Shape& shape = typed->type(typed->result()).shape();
  EXPECT_EQ(shape[1].substitute({{"s", Dim(0)}}), Dim(0)) << to_string(shape[1]);
  EXPECT_EQ(shape[1].substitute({{"s", Dim(5)}}), Dim(1)) << to_string(shape[1]);
}

// The largest numbers of 32 and 64 bits are how exporters say "to the end".
TEST(Infer, SlicesToTheEnd) {
  using Ints = std::vector<std::int64_t>;
  for (const std::int64_t end : {std::int64_t{INT32_MAX}, INT64_MAX}) {
    FunctionBuilder b;
    const NodeId x = b.param("x", tensor_type({Dim::symbol("n")}, kFloat32));
    const auto typed = infer_types(b.finish(
        b.call(op("strided_slice"), {x},
               {{"begin", Ints{0}}, {"end", Ints{end}}, {"strides", Ints{1}}, {"axes", Ints{0}}})));
    ASSERT_TRUE(typed.has_value());
    EXPECT_EQ(to_string(typed->type(typed->result())), "Tensor[(?n), float32]");
  }
}

TEST(Infer, SlicesByTheirSizesLieInside) {
  FunctionBuilder b;
  const auto list = [&](std::int64_t at) {
    return b.constant(tensor_from_ints({1}, kInt64, {{at}}));
  };
  const auto typed = infer_types(
      b.finish(b.call(op("dyn.strided_slice"), {b.param("x", f32({3})), list(1), list(3), list(1)},
                      {{"slice_mode", "size"}})));
  ASSERT_FALSE(typed.has_value());
  EXPECT_EQ(typed.error().list[0].message,
            "`dyn.strided_slice` takes 3 elements from 1 on of dimension 0, which has 3");
}

// Names, marks of regions and tuples in sight hide no size.
TEST(Infer, MarksPassSizesOn) {
  FunctionBuilder b;
  const auto begun = [&](NodeId value) {
    return b.call(op("annotation.compiler_begin"), {value}, {{"compiler", "c"}});
  };
  const auto sizes = [&](std::vector<std::int64_t> values) {
    const auto count = static_cast<std::int64_t>(values.size());
    return b.constant(tensor_from_ints(std::vector<std::int64_t>{count}, kInt64, values));
  };
  const NodeId x = b.param("x", f32({2, 6})), y = b.param("y", f32({2, 6}));
  const NodeId both[] = {begun(sizes({3})), begun(sizes({4}))};
  const NodeId lists = begun(b.tuple(both));
  const NodeId of_list = b.call(op("concatenate"), {lists}, {{"axis", 0}});
  const NodeId fields[] = {begun(x), begun(sizes({12}))};
  const NodeId tuple = begun(b.tuple(fields));
  const NodeId of_field = b.call(op("dyn.reshape"), {y, b.let("l", b.project(tuple, 1))});
  const NodeId results[] = {b.call(op("dyn.reshape"), {begun(x), begun(of_list)}), of_field};
  const auto typed = infer_types(b.finish(b.tuple(results)));
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(to_string(typed->type(typed->result())),
            "(Tensor[(3, 4), float32], Tensor[(12), float32])");
}

TEST(InferFunction, ReportsAllFindingsAndNoFollowers) {
  FunctionBuilder b;
  const NodeId x = b.param("x", f32({2, 3})), y = b.param("y", f32({4}));
  const NodeId bad = b.call(op("add"), {x, y});
  const NodeId also_bad = b.call(op("multiply"), {x, y});
  const NodeId follower = b.call(op("add"), {bad, also_bad});
  const auto typed = infer_types(b.finish(follower));
  ASSERT_FALSE(typed.has_value());
  EXPECT_EQ(typed.error().list.size(), 2u);
}

TEST(InferFunction, LiteralsLearnTheirParametersFromCalls) {
  FunctionBuilder b;
  const relay::RegionId body = b.begin_region();
  const NodeId p = b.param("p", {});
  b.end_region(b.call(op("nn.relu"), {p}));
  const NodeId literal = b.literal(body, {});
  const NodeId x = b.param("x", f32({2, 3}));
  const auto typed = infer_types(b.finish(b.call_value(literal, std::span(&x, 1))));
  ASSERT_TRUE(typed.has_value());
  EXPECT_EQ(to_string(typed->type(typed->result())), "Tensor[(2, 3), float32]");
  EXPECT_EQ(to_string(typed->type(literal)),
            "fn (Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32]");
  EXPECT_TRUE(typed->result_annotation == f32({2, 3}));
}

TEST(InferFunction, BranchesJoinAndTheConditionIsBool) {
  const auto build = [](DType condition, Dim other) {
    FunctionBuilder b;
    const NodeId c = b.param("c", tensor_type({}, condition));
    const NodeId x = b.param("x", f32({2})), y = b.param("y", f32({other}));
    const relay::RegionId yes = b.begin_region();
    b.end_region(b.call(op("nn.relu"), {x}));
    const relay::RegionId no = b.begin_region();
    b.end_region(b.call(op("nn.relu"), {y}));
    return infer_types(b.finish(b.if_(c, yes, no)));
  };
  const auto joined = build(kBool, Dim::unknown());
  ASSERT_TRUE(joined.has_value());
  EXPECT_EQ(to_string(joined->type(joined->result())), "Tensor[(?), float32]");
  EXPECT_EQ(build(kInt32, 2).error().list[0].message,
            "the condition of `if` has type int32, it must be bool");
  EXPECT_EQ(
      build(kBool, 3).error().list[0].message,
      "the branches of `if` have different types: Tensor[(2), float32] and Tensor[(3), float32]");
}

TEST(InferFunction, AnnotationsAreChecked) {
  FunctionBuilder b;
  const NodeId x = b.param("x", f32({2}));
  const auto wrong = infer_types(b.finish(b.let("y", x, f32({3}))));
  EXPECT_EQ(wrong.error().list[0].message,
            "`%y` is annotated as Tensor[(3), float32] and has type Tensor[(2), float32]");
  FunctionBuilder c;
  const NodeId untyped = c.param("x", {});
  EXPECT_EQ(infer_types(c.finish(untyped)).error().list[0].message,
            "the type of parameter `%x` is not known");
}

TEST(InferFunction, LongChainsNeedNoStack) {
  FunctionBuilder b;
  NodeId x = b.param("x", f32({4}));
  for (int i = 0; i < 90'000; ++i) x = b.call(op("nn.relu"), {x});
  const auto typed = infer_types(b.finish(x));
  ASSERT_TRUE(typed.has_value());
  EXPECT_TRUE(typed->type(typed->result()) == f32({4}));
}

relay::Function caller(std::string callee, Type param) {
  FunctionBuilder b;
  const NodeId x = b.param("x", std::move(param));
  return b.finish(b.call_value(b.global(std::move(callee)), std::span(&x, 1)));
}

TEST(InferModule, CalleesComeFirst) {
  Module m;
  FunctionBuilder b;
  const NodeId x = b.param("x", f32({2}));
  m.functions["z"] = b.finish(b.call(op("exp"), {x}));
  m.functions["main"] = caller("z", f32({2}));
  const auto typed = infer_types(std::move(m));
  ASSERT_TRUE(typed.has_value());
  EXPECT_TRUE(typed->functions.at("main").result_annotation == f32({2}));
}

TEST(InferModule, CallsAreChecked) {
  Module m;
  m.functions["f"] = caller("g", f32({3}));
  FunctionBuilder b;
  const NodeId x = b.param("x", f32({2}));
  m.functions["g"] = b.finish(x);
  m.functions["h"] = caller("nowhere", f32({2}));
  m.functions["r"] = caller("r", f32({2}));
  const auto typed = infer_types(std::move(m));
  ASSERT_FALSE(typed.has_value());
  ASSERT_EQ(typed.error().list.size(), 3u);
  EXPECT_EQ(typed.error().list[0].message,
            "argument 1 of `@g` has type Tensor[(3), float32], the parameter has type Tensor[(2), "
            "float32]");
  EXPECT_EQ(typed.error().list[1].message, "there is no function `@nowhere`");
  EXPECT_EQ(typed.error().list[2].message,
            "`@r` calls `@r`, which is recursive and has no complete signature");
}

// `even` and `odd` call each other; main says what they take, the end of `even` what they give.
TEST(InferModule, FunctionsThatCallEachOther) {
  const auto half = [](const char* other, bool ends) {
    FunctionBuilder b;
    const NodeId more = b.param("more", {}), x = b.param("x", {});
    const NodeId call_it = [&] {
      if (!ends) {
        const std::vector<NodeId> args = {more, b.call(op("exp"), {x})};
        return b.call_value(b.global(other), args);
      }
      const relay::RegionId yes = b.begin_region();
      const std::vector<NodeId> args = {more, b.call(op("negative"), {x})};
      b.end_region(b.call_value(b.global(other), args));
      const relay::RegionId no = b.begin_region();
      b.end_region(b.call(op("nn.relu"), {x}));
      return b.if_(more, yes, no);
    }();
    return b.finish(call_it);
  };
  for (const char* first : {"even", "odd"}) {
    Module m;
    m.functions["even"] = half("odd", true);
    m.functions["odd"] = half("even", false);
    FunctionBuilder b;
    const std::vector<NodeId> args = {b.param("more", tensor_type({}, kBool)),
                                      b.param("x", f32({2}))};
    m.functions["main"] = b.finish(b.call_value(b.global(first), args));
    const auto typed = infer_types(std::move(m));
    ASSERT_TRUE(typed.has_value()) << render(typed.error());
    for (const auto& [name, f] : typed->functions) {
      EXPECT_TRUE(f.result_annotation == f32({2})) << name;
    }
    EXPECT_TRUE(typed->functions.at("odd")
                    .as<relay::Param>(typed->functions.at("odd").params()[1])
                    ->annotation == f32({2}));
  }
}

// Each call tells the next literal what its parameter is: a round for each would take minutes.
TEST(Infer, AChainOfLiteralsTakesNearLinearTime) {
  constexpr int kLiterals = tessera::testing::kLargeGraphNodes;
  FunctionBuilder b;
  NodeId at = b.param("x", f32({2}));
  for (int i = 0; i < kLiterals; ++i) {
    const relay::RegionId body = b.begin_region();
    const NodeId inner = b.param("p", {});
    b.end_region(b.call(op("tanh"), {inner}));
    const NodeId literal = b.literal(body, {}, {});
    at = b.call_value(i % 2 == 0 ? literal : b.let("f", literal), std::vector<NodeId>{at});
  }
  relay::Function f = b.finish(at);
  const auto begin = std::chrono::steady_clock::now();
  const auto typed = infer_types(std::move(f));
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
            tessera::testing::kLargeGraphSeconds);
  ASSERT_TRUE(typed.has_value()) << render(typed.error());
  EXPECT_TRUE(typed->type(typed->result()) == f32({2}));
}

// Nothing says what they give.
TEST(InferModule, FunctionsThatCallEachOtherWithoutEnd) {
  Module m;
  m.functions["a"] = caller("b", f32({2}));
  m.functions["b"] = caller("a", f32({2}));
  const auto typed = infer_types(std::move(m));
  ASSERT_FALSE(typed.has_value());
  EXPECT_NE(typed.error().list[0].message.find("recursive and has no complete signature"),
            std::string::npos);
}

TEST(InferModule, RecursionNeedsASignature) {
  Module m;
  m.functions["r"] = caller("r", f32({2}));
  m.functions["r"].result_annotation = f32({2});
  EXPECT_TRUE(infer_types(std::move(m)).has_value());
}

}  // namespace
}  // namespace tessera::ops
