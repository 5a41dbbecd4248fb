// SPDX-License-Identifier: Apache-2.0
// Shape functions, run with the sizes of actual arguments, say what inference says of these.
#include "lower/shape_function.h"

#include <numeric>

#include <gtest/gtest.h>

#include "lower/te_names.h"
#include "ops/inference/infer_types.h"
#include "ops/records/table.h"
#include "relay/text/parse.h"
#include "tir/interpret.h"

namespace tessera::lower {
namespace {

using Shapes = std::vector<std::vector<std::int64_t>>;

struct Case {
  std::string text;           // `fn (...) { ... }`
  std::vector<Shapes> calls;  // of the tensors of the arguments
};

relay::Function parse(const std::string& text) {
  const auto file = std::make_shared<const SourceFile>(SourceFile{"case.relay", text});
  auto f = relay::parse_function(file, ops::operators(), {});
  EXPECT_TRUE(f.has_value()) << (f ? "" : render(f.error()));
  return std::move(*f);
}

relay::Function typed(relay::Function f) {
  auto out = ops::infer_types(std::move(f));
  EXPECT_TRUE(out.has_value()) << (out ? "" : render(out.error()));
  return std::move(*out);
}

Type with_sizes(const Type& type, const Shapes& shapes, std::size_t& next) {
  if (type.is_tuple()) {
    std::vector<Type> fields;
    for (const Type& field : type.fields()) fields.push_back(with_sizes(field, shapes, next));
    return tuple_type(std::move(fields));
  }
  const auto& sizes = shapes.at(next++);
  return tensor_type(Shape(sizes.begin(), sizes.end()), type.dtype());
}

// What inference says of the result once the arguments' sizes are known.
Shapes inferred(const std::string& text, const Shapes& arguments) {
  relay::Function f = parse(text);
  std::size_t next = 0;
  for (const relay::NodeId param : f.params()) {
    f.set_annotation(param, with_sizes(f.as<relay::Param>(param)->annotation, arguments, next));
  }
  f.result_annotation = {};
  f = typed(std::move(f));
  Shapes out;
  for (const Type& t : flatten(f.type(f.result())))
    out.push_back(constant_shape(t.shape()).value());
  return out;
}

Shapes computed(const relay::Function& f, const ShapeFunction& shape, Shapes arguments) {
  Shapes used;
  std::size_t next = 0;
  for (std::size_t p = 0; p < f.params().size(); ++p) {
    for (std::size_t i = flatten(f.type(f.params()[p])).size(); i > 0; --i, ++next) {
      if (shape.states[p] == 2) used.push_back(arguments[next]);
    }
  }
  EXPECT_EQ(used.size(), shape.func.inputs.size());
  for (const tir::Buffer& out : shape.func.outputs) {
    used.emplace_back(out->shape.empty() ? 0 : static_cast<std::size_t>(tir::constant_size(out)),
                      -1);
  }
  std::vector<void*> pointers;
  for (auto& sizes : used) {
    sizes.reserve(1);
    pointers.push_back(sizes.data());
  }
  tir::interpret(shape.func, pointers);
  return {used.begin() + static_cast<std::ptrdiff_t>(shape.func.inputs.size()), used.end()};
}

const Case kCases[] = {
    {"fn (%x: Tensor[(?, ?), float32], %y: Tensor[(?, ?), float32]) { add(%x, %y) }",
     {{{3, 1}, {1, 4}}, {{2, 3}, {2, 3}}, {{1, 5}, {7, 5}}}},
    {"fn (%x: Tensor[(?, 4), float32], %y: Tensor[(?), float32], %z: float32) { "
     "multiply(subtract(%x, %y), %z) }",
     {{{3, 4}, {1}, {}}, {{1, 4}, {4}, {}}}},
    {"fn (%c: Tensor[(?, ?), bool], %x: Tensor[(?, ?), float32]) { where(%c, %x, negative(%x)) }",
     {{{2, 3}, {2, 3}}}},
    {"fn (%x: Tensor[(?n, ?), float32], %y: Tensor[(?n, ?), float32]) { "
     "concatenate((%x, %y, %x), axis=1) }",
     {{{3, 1}, {3, 4}}}},
    {"fn (%x: (Tensor[(?, 2), float32], Tensor[(?, 2), float32])) { concatenate(%x, axis=0) }",
     {{{3, 2}, {5, 2}}}},
    {"fn (%x: Tensor[(?, 6), float32]) { reshape(%x, newshape=[-1, 4, 3]) }", {{{2, 6}}, {{8, 6}}}},
    {"fn (%x: Tensor[(?, ?, 8), float32], %w: Tensor[(16, 8), float32]) { nn.dense(%x, %w, "
     "units=16) }",
     {{{2, 3, 8}, {16, 8}}}},
    {"fn (%x: Tensor[(?b, ?, 8), float32], %y: Tensor[(?b, ?, 8), float32]) { "
     "nn.softmax(nn.batch_matmul(%x, %y, transpose_b=True)) }",
     {{{2, 3, 8}, {2, 5, 8}}}},
    {"fn (%x: Tensor[(?, 3, ?, ?), float32], %w: Tensor[(4, 3, 3, 3), float32]) { "
     "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 1], channels=4, kernel_size=[3, 3]) }",
     {{{2, 3, 9, 10}, {4, 3, 3, 3}}, {{1, 3, 3, 5}, {4, 3, 3, 3}}}},
    {"fn (%x: Tensor[(?, 3, ?, ?), float32]) { nn.max_pool2d(%x, pool_size=[2, 2], strides=[2, 2]) "
     "}",
     {{{2, 3, 9, 10}}, {{1, 3, 2, 5}}}},
    {"fn (%x: Tensor[(?, 3, ?), float32]) { (transpose(%x, axes=[2, 0, 1]), mean(%x, axis=[2]), "
     "expand_dims(%x, axis=1, num_newaxis=2), sum(%x)) }",
     {{{2, 3, 9}}}},
    {"fn (%x: Tensor[(?, ?), float32]) { nn.pad(%x, pad_width=[[1, 2], [0, 3]]) }", {{{4, 1}}}},
    {"fn (%x: Tensor[(?, 6), float32]) { split(%x, indices_or_sections=[2, 3], axis=1) }",
     {{{4, 6}}}},
    {"fn (%x: Tensor[(?, 6), float32], %i: Tensor[(?, ?), int64]) { take(%x, %i, axis=0) }",
     {{{4, 6}, {2, 3}}}},
};

TEST(ShapeFunction, SaysWhatInferenceSaysOfActualSizes) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.text);
    const relay::Function f = typed(parse(c.text));
    const auto shape = derive_shape_function(f, {});
    ASSERT_TRUE(shape.has_value()) << render(shape.error());
    for (const Shapes& arguments : c.calls) {
      EXPECT_EQ(computed(f, *shape, arguments), inferred(c.text, arguments));
    }
  }
}

TEST(ShapeFunction, TellsWhatEachParameterIsNeededFor) {
  const relay::Function f = typed(parse(
      "fn (%x: Tensor[(?), float32], %unused: Tensor[(?), float32], %y: (float32, Tensor[(?), "
      "float32])) { add(%x, %y.1) }"));
  const auto shape = derive_shape_function(f, {});
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->states, (std::vector<int>{2, 0, 2}));
  ASSERT_EQ(shape->func.inputs.size(), 3u);
  EXPECT_TRUE(shape->func.inputs[1]->shape.empty());
}

TEST(ShapeFunction, ReadsDataWhereSizesDependOnThem) {
  const relay::Function f = typed(
      parse("fn (%stop: int64, %x: Tensor[(?), float32]) { concatenate((cast(arange(2i64, %stop, "
            "3i64), dtype=\"float32\"), %x)) }"));
  const auto shape = derive_shape_function(f, {});
  ASSERT_TRUE(shape.has_value()) << render(shape.error());
  EXPECT_EQ(shape->states, (std::vector<int>{1, 2}));
  for (const std::int64_t stop : {-4, 2, 3, 5, 6, 30}) {
    std::int64_t data = stop, sizes[] = {7}, result[] = {-1};
    std::vector<void*> pointers{&data, sizes, result};
    tir::interpret(shape->func, pointers);
    EXPECT_EQ(result[0], 7 + std::max<std::int64_t>(0, (stop - 2 + 2) / 3)) << stop;
  }
}

TEST(TeNames, HaveEightyCharactersAndThenAHash) {
  const std::vector<std::string> short_list{"nn.dense", "add"};
  EXPECT_EQ(fused_name("m", short_list), "m_fused_nn_dense_add");
  EXPECT_EQ(shape_function_name("m", short_list), "m_shape_func_nn_dense_add");
  const std::string eighty(80 - std::string("m_fused_").size(), 'a');
  EXPECT_EQ(fused_name("m", {eighty}), "m_fused_" + eighty);
  const std::string longer = fused_name("m", {eighty + "a"}),
                    other = fused_name("m", {eighty + "b"});
  EXPECT_TRUE(longer.starts_with("m_fused_" + eighty + "_"));
  EXPECT_TRUE(longer.ends_with("_"));
  EXPECT_NE(longer, other);
}

}  // namespace
}  // namespace tessera::lower
