// SPDX-License-Identifier: Apache-2.0
#include "relay/text/metadata.h"

#include <random>

#include <gtest/gtest.h>

#include "relay/text/base64.h"

namespace tessera::relay {
namespace {

std::string encode(std::string_view text) {
  std::string out;
  append_base64(out, std::as_bytes(std::span(text)));
  return out;
}

TEST(Base64, ExamplesOfTheStandard) {
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
  for (const char* bad : {"Zg", "Z===", "Zg=a", "Zm9v!m9v", "===="}) {
    EXPECT_FALSE(decode_base64(bad)) << bad;
  }
}

TEST(Base64, AllLengthsComeBack) {
  std::mt19937 random(1);
  for (std::size_t n = 0; n < 200; ++n) {
    std::vector<std::byte> bytes(n);
    for (std::byte& b : bytes) b = static_cast<std::byte>(random());
    std::string text;
    append_base64(text, bytes);
    EXPECT_EQ(decode_base64(text), bytes);
  }
}

Tensor bytes_as(DType dtype, std::vector<std::int64_t> shape) {
  std::int64_t n = dtype.size_bytes();
  for (std::int64_t d : shape) n *= d;
  std::vector<std::byte> bytes(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(dtype.is_bool() ? i % 2 : 7 * i + 1);
  return Tensor(std::move(shape), dtype, Blob::adopt(std::move(bytes)));
}

TEST(Metadata, EveryDtypeAndRankComesBack) {
  std::vector<Tensor> tensors;
  for (const DType dtype : {kBool, kInt8, kUInt8, kInt16, kUInt16, kInt32, kUInt32, kInt64, kUInt64,
                            kFloat16, kBFloat16, kFloat32, kFloat64, kInt8.with_lanes(4)}) {
    tensors.push_back(bytes_as(dtype, {}));
    tensors.push_back(bytes_as(dtype, {3}));
    tensors.push_back(bytes_as(dtype, {2, 0, 5}));
    tensors.push_back(bytes_as(dtype, {1, 2, 1, 7}));
  }
  const auto read = parse_metadata(metadata_json(tensors), {});
  ASSERT_TRUE(read) << render(read.error());
  ASSERT_EQ(read->constants.size(), tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    EXPECT_TRUE(read->constants[i] == tensors[i]) << i;
}

TEST(Metadata, DamageIsReported) {
  const std::string good = metadata_json({bytes_as(kInt32, {5})});
  int refused = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad.erase(i, 1 + i % 7);
    const auto read = parse_metadata(bad, {});
    if (read) continue;
    ++refused;
    EXPECT_EQ(read.error().list[0].code, Code::kBadMetadata);
  }
  EXPECT_GT(refused, static_cast<int>(good.size() / 2));
}

// As other writers do it: device and checked type are nodes, indices are strings, keys are many.
TEST(Metadata, ReadsOtherWriters) {
  std::string array = metadata_json({bytes_as(kFloat32, {2})});
  array = array.substr(array.find("b64ndarrays") + 14);
  array = array.substr(array.find('"') + 1);
  array = array.substr(0, array.find('"'));
  const std::string json = R"({"root": 1, "nodes": [{"type_key": ""},
    {"type_key": "Map", "keys": ["Span", "relay.Constant", "tir.SizeVar", "VirtualDevice"],
     "data": [2, 3, 4, 10]},
    {"type_key": "Array"}, {"type_key": "Array", "data": [5]}, {"type_key": "Array", "data": [6]},
    {"type_key": "relay.Constant",
     "attrs": {"data": "0", "virtual_device_": "9", "_checked_type_": "8"}},
    {"type_key": "tir.SizeVar", "attrs": {"dtype": "int64", "name": "7", "span": "0"}},
    {"type_key": "runtime.String", "repr_str": "seq"}, {"type_key": "relay.TensorType"},
    {"type_key": "VirtualDevice", "attrs": {"device_type_int": "2", "virtual_device_id": "1"}},
    {"type_key": "Array", "data": [9]}], "b64ndarrays": [")" +
                           array + "\"]}";
  const auto read = parse_metadata(json, {});
  ASSERT_TRUE(read) << render(read.error());
  ASSERT_EQ(read->constants.size(), 1u);
  EXPECT_TRUE(read->constants[0] == bytes_as(kFloat32, {2}));
  EXPECT_EQ(read->size_vars.at("tir.SizeVar"), std::vector<std::string>{"seq"});
  EXPECT_EQ(read->virtual_devices, std::vector<std::string>{"cuda:1"});
}

}  // namespace
}  // namespace tessera::relay
