// SPDX-License-Identifier: Apache-2.0
#include "byoc/region_sizes.h"

#include <gtest/gtest.h>

namespace tessera::byoc {
namespace {

Dim size(const std::string& text) {
  const auto dim = parse_dim_expression("(" + text + ")");
  EXPECT_TRUE(dim) << text;
  return *dim;
}

Type tensor(const std::vector<std::string>& sizes) {
  Shape shape;
  for (const std::string& text : sizes) shape.push_back(size(text));
  return tensor_type(std::move(shape), kFloat32);
}

// What is derived has the value that the size has, whatever the symbols are, and reads only what a
// run has read.
void expect_derived(const RegionSizes& sizes, const std::string& text) {
  const auto derived = sizes.derived(size(text));
  ASSERT_TRUE(derived) << text;
  for (const auto& [a, b, c] : {std::tuple{1, 2, 3}, {0, 7, 1}, {5, 0, 4}, {9, 1, 0}}) {
    const std::map<std::string, Dim> values = {{"batch", a}, {"past", b}, {"seq", c}};
    std::map<std::string, Dim> read;
    for (const RegionSizes::Read& r : sizes.reads()) read[r.name] = r.size.substitute(values);
    EXPECT_EQ(derived->substitute(read), size(text).substitute(values))
        << text << " as " << derived->expression_text();
  }
}

bool is_derived(const RegionSizes& sizes, const std::string& text) {
  return sizes.derived(size(text)).has_value();
}

TEST(RegionSizes, ASymbolIsWhatASumLeaves) {
  const RegionSizes sizes({tensor({"batch", "past+seq", "64"}), tensor({"batch", "seq", "64"})},
                          {});
  for (const char* text : {"past", "64*past+64*seq", "batch*past*seq", "floordiv(past, 2)+seq",
                           "min(past, seq)", "max(past+seq, 1)"}) {
    expect_derived(sizes, text);
  }
}

TEST(RegionSizes, ASumOfWhatIsNotKnownIsKnownAsAWhole) {
  const RegionSizes sizes({tensor({"past+seq", "batch"})}, {});
  expect_derived(sizes, "64*past+64*seq");
  expect_derived(sizes, "batch*past+batch*seq");
  expect_derived(sizes, "floordiv(past+seq, 2)");
  for (const char* text : {"past", "seq", "past+2*seq", "floordiv(past, 2)"}) {
    EXPECT_FALSE(is_derived(sizes, text)) << text;
  }
}

TEST(RegionSizes, SeveralSumsAreSolvedTogether) {
  const RegionSizes sizes({tensor({"batch+past+seq", "past+seq", "2*seq"}), tensor({"past-seq+8"})},
                          {});
  for (const char* text : {"batch", "past", "seq", "batch*seq"}) expect_derived(sizes, text);
}

// Nothing is divided by a size that may be zero.
TEST(RegionSizes, AProductIsKnownAsAWhole) {
  const RegionSizes sizes({tensor({"batch*seq", "seq"})}, {});
  expect_derived(sizes, "64*batch*seq");
  expect_derived(sizes, "64*batch*seq+seq");
  expect_derived(sizes, "batch*seq*seq");
  EXPECT_FALSE(is_derived(sizes, "batch"));
  EXPECT_FALSE(is_derived(sizes, "batch*seq+past"));
}

TEST(RegionSizes, QuotientsAndMinimaAreKnownAsAWhole) {
  const RegionSizes sizes({tensor({"floordiv(past, 2)", "min(batch, 512)", "3*seq"})}, {});
  expect_derived(sizes, "64*floordiv(past, 2)");
  expect_derived(sizes, "7*min(batch, 512)+floordiv(past, 2)");
  expect_derived(sizes, "floordiv(past, 2)*floordiv(past, 2)*seq");
  expect_derived(sizes, "seq");
  EXPECT_FALSE(is_derived(sizes, "past"));
  EXPECT_FALSE(is_derived(sizes, "batch"));
}

// `seq` follows from `3*seq`, which a run knows by the name alone.
TEST(RegionSizes, WhatIsReadHasItsName) {
  const RegionSizes sizes({tensor({"3*seq", "past+batch", "batch"})}, {});
  ASSERT_EQ(sizes.reads().size(), 3u);
  for (const RegionSizes::Read& read : sizes.reads()) {
    EXPECT_EQ(sizes.derived(read.size), Dim::symbol(read.name)) << read.size.expression_text();
  }
  expect_derived(sizes, "seq");
}

TEST(RegionSizes, NamesAreNoSymbolsOfTheRegion) {
  const RegionSizes sizes({tensor({"past+seq"})}, {"read_0"});
  ASSERT_EQ(sizes.reads().size(), 1u);
  EXPECT_EQ(sizes.reads()[0].name, "read_0_");
}

TEST(RegionSizes, NumbersAndUnknownSizes) {
  const RegionSizes sizes({tensor({"4"})}, {});
  EXPECT_TRUE(sizes.reads().empty());
  EXPECT_EQ(sizes.derived(Dim(7)), Dim(7));
  EXPECT_FALSE(sizes.derived(Dim::unknown()));
}

}  // namespace
}  // namespace tessera::byoc
