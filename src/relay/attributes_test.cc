// SPDX-License-Identifier: Apache-2.0
#include "relay/attributes.h"

#include <gtest/gtest.h>

#include "relay/testing/operators.h"

namespace tessera::relay {
namespace {

using testing::DenseAttrs;

std::string normalize(std::string_view op, Attrs& attrs) {
  return testing::op(op).attrs().normalize(attrs).value_or("");
}

TEST(Attributes, SortedAndComparedByContent) {
  const Attrs a{{"b", 1}, {"a", "x"}};
  const Attrs b{{"a", "x"}, {"b", true}};
  EXPECT_EQ(a.begin()->first, "a");
  EXPECT_TRUE(a == b) << "true and 1 are the same value";
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_FALSE(AttrValue(1) == AttrValue(1.0));
  EXPECT_FALSE(AttrValue(AttrArray{1, 2}) == AttrValue(AttrArray{2, 1}));
  EXPECT_TRUE(AttrValue(AttrArray{1, true}) == AttrValue(AttrArray{true, 1}));
}

TEST(Attributes, NormalizeConvertsAndDropsDefaults) {
  Attrs a{
      {"strides", AttrArray{1, 1}}, {"padding", 3}, {"groups", 1}, {"kernel_size", AttrValue()}};
  EXPECT_EQ(normalize("nn.conv2d", a), "");
  EXPECT_TRUE(a == (Attrs{{"padding", AttrArray{3}}}));

  Attrs clip{{"a_min", 0}, {"a_max", 6}};
  EXPECT_EQ(normalize("clip", clip), "");
  EXPECT_TRUE(clip == (Attrs{{"a_min", 0.0}, {"a_max", 6.0}})) << "required fields stay";

  Attrs mean{{"keepdims", 1}, {"axis", 2}};
  EXPECT_EQ(normalize("mean", mean), "");
  EXPECT_NE(mean.find("keepdims")->as<bool>(), nullptr);
}

TEST(Attributes, WidthsCountUntilAnOperatorsFieldTakesTheNumber) {
  AttrValue wide(1), wide_axis(AttrArray{2});
  wide.width = 64;
  EXPECT_FALSE(wide == AttrValue(1));
  EXPECT_EQ(AttrValue(std::int64_t{1} << 40).width, 64);
  wide_axis = AttrArray{wide};
  Attrs mean{{"axis", wide_axis}};
  EXPECT_EQ(normalize("mean", mean), "");
  EXPECT_TRUE(mean == (Attrs{{"axis", AttrArray{1}}}));
  Attrs clip{{"a_min", wide}, {"a_max", wide}};
  EXPECT_EQ(normalize("clip", clip), "");
  EXPECT_TRUE(clip == (Attrs{{"a_min", 1.0}, {"a_max", 1.0}}));
}

TEST(Attributes, NormalizeSaysWhatIsWrong) {
  Attrs unknown{{"axes", 1}};
  EXPECT_EQ(normalize("mean", unknown), "unknown attribute `axes`; it has: axis, keepdims");
  Attrs none{{"axes", 1}};
  EXPECT_EQ(normalize("add", none), "unknown attribute `axes`; it has none");
  Attrs missing;
  EXPECT_EQ(normalize("reshape", missing), "attribute `newshape` is missing");
  Attrs wrong{{"axis", AttrArray{"x"}}};
  EXPECT_EQ(normalize("mean", wrong), "attribute `axis` must be a list of integers or None");
  Attrs dtype{{"dtype", "float33"}};
  EXPECT_EQ(normalize("cast", dtype), "attribute `dtype` must be a data type in quotes");
  Attrs not_null{{"groups", AttrValue()}};
  EXPECT_EQ(normalize("nn.conv2d", not_null), "attribute `groups` must be an integer");
  Attrs flat{{"pad_width", AttrArray{0, 1}}};
  EXPECT_EQ(normalize("nn.pad", flat), "attribute `pad_width` must be a list of lists of integers");
}

TEST(Attributes, TypedStructsRoundTrip) {
  DenseAttrs dense;
  dense.out_dtype = kFloat16;
  const Attrs attrs = write_attrs(dense);
  EXPECT_TRUE(attrs == (Attrs{{"units", AttrValue()}, {"out_dtype", "float16"}}));
  const auto back = read_attrs<DenseAttrs>(attrs);
  EXPECT_FALSE(back.units.has_value());
  EXPECT_EQ(back.out_dtype, kFloat16);
  EXPECT_EQ(read_attrs<testing::ConvAttrs>({}).strides, (std::vector<std::int64_t>{1, 1}));

  testing::PadAttrs pad;
  pad.pad_width = {{0, 0}, {1, 2}};
  EXPECT_EQ(read_attrs<testing::PadAttrs>(write_attrs(pad)).pad_width, pad.pad_width);
}

TEST(Attributes, EmptyDtypeMeansNone) {
  Attrs attrs{{"units", AttrValue()}, {"out_dtype", ""}};
  EXPECT_EQ(normalize("nn.dense", attrs), "");
  EXPECT_EQ(attrs.find("out_dtype"), nullptr);
}

}  // namespace
}  // namespace tessera::relay
