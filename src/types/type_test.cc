// SPDX-License-Identifier: Apache-2.0
#include "types/type.h"

#include <gtest/gtest.h>

#include "support/check.h"

namespace tessera {
namespace {

TEST(DTypes, TextReadsBack) {
  for (const char* text : {"float32", "float16", "float64", "bfloat16", "int8", "int16", "int32",
                           "int64", "uint8", "uint16", "uint32", "uint64", "int4", "bool", "handle",
                           "int8x4", "float32x16", "uint1x4", "bfloat16x2"}) {
    const auto dtype = parse_dtype(text);
    ASSERT_TRUE(dtype) << text;
    EXPECT_EQ(to_string(*dtype), text);
  }
  EXPECT_EQ(parse_dtype("uint1"), kBool);
  EXPECT_EQ(parse_dtype("boolx4"), kBool.with_lanes(4));
}

TEST(DTypes, OtherWordsAreRefused) {
  for (const char* text :
       {"",      "float",    "float33", "int",    "int7",           "int0",       "int032",
        "int-8", "bfloat32", "int8x",   "int8x1", "int8x0",         "int8x70000", "int8x4x2",
        "int8 ", "Float32",  "boolean", "x4",     "int99999999999", "uint1x",     "float8"}) {
    EXPECT_FALSE(parse_dtype(text)) << text;
  }
}

TEST(DTypes, Sizes) {
  EXPECT_EQ(kFloat16.size_bytes(), 2);
  EXPECT_EQ(kBool.size_bytes(), 1);
  EXPECT_EQ(DType::i(4).size_bytes(), 1);
  EXPECT_EQ(kFloat32.with_lanes(16).size_bytes(), 64);
  EXPECT_EQ(kFloat32.with_lanes(16).element(), kFloat32);
}

TEST(Types, Text) {
  const Type scalar = tensor_type({}, kFloat32), matrix = tensor_type({2, Dim::unknown()}, kBool);
  EXPECT_EQ(to_string(scalar), "float32");
  EXPECT_EQ(to_string(matrix), "Tensor[(2, ?), bool]");
  EXPECT_EQ(to_string(tensor_type({Dim::symbol("n") * 2}, kInt8)), "Tensor[(?(2*n)), int8]");
  EXPECT_EQ(to_string(tuple_type({})), "()");
  EXPECT_EQ(to_string(tuple_type({scalar})), "(float32,)");
  EXPECT_EQ(to_string(tuple_type({scalar, matrix})), "(float32, Tensor[(2, ?), bool])");
  EXPECT_EQ(to_string(function_type({scalar, Type()}, tuple_type({}))),
            "fn (float32, <unknown>) -> ()");
}

TEST(Types, EqualityAndHashAreStructural) {
  const auto make = [](std::int64_t size) {
    return function_type({tuple_type({tensor_type({size}, kFloat32)})}, tensor_type({}, kBool));
  };
  EXPECT_EQ(make(2), make(2));
  EXPECT_EQ(make(2).hash(), make(2).hash());
  EXPECT_NE(make(2), make(3));
  EXPECT_NE(make(2).hash(), make(3).hash());
  EXPECT_NE(tensor_type({2}, kFloat32), tensor_type({2}, kFloat64));
  EXPECT_NE(tensor_type({}, kFloat32), tuple_type({tensor_type({}, kFloat32)}));
  EXPECT_EQ(Type(), Type());
  EXPECT_NE(Type(), tuple_type({}));
  EXPECT_FALSE(Type());
}

TEST(Types, FlattenAndDynamic) {
  const Type a = tensor_type({1}, kInt8), b = tensor_type({Dim::symbol("n")}, kInt8);
  EXPECT_EQ(flatten(tuple_type({a, tuple_type({b, tuple_type({}), a})})),
            (std::vector<Type>{a, b, a}));
  EXPECT_EQ(flatten(a), std::vector<Type>{a});
  EXPECT_FALSE(is_dynamic(tuple_type({a, a})));
  EXPECT_TRUE(is_dynamic(tuple_type({a, tuple_type({b})})));
  EXPECT_TRUE(is_dynamic(function_type({b}, a)));
  EXPECT_FALSE(is_dynamic(Type()));
}

TEST(Types, AskingTheWrongKindIsABug) {
  EXPECT_THROW(Type().shape(), InternalError);
  EXPECT_THROW(tuple_type({}).dtype(), InternalError);
  EXPECT_THROW(tensor_type({}, kBool).fields(), InternalError);
}

}  // namespace
}  // namespace tessera
