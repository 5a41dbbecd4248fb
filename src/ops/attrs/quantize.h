// SPDX-License-Identifier: Apache-2.0
// Attributes of quantisation.
#pragma once

#include "relay/attributes.h"

namespace tessera::ops {

struct QuantizeAttrs {
  DType out_dtype = kUInt8;
  std::int64_t axis = -1;
  static constexpr auto fields = std::tuple{relay::attr("out_dtype", &QuantizeAttrs::out_dtype),
                                            relay::attr("axis", &QuantizeAttrs::axis)};
};
struct DequantizeAttrs {
  std::int64_t axis = -1;
  DType out_dtype = kFloat32;
  static constexpr auto fields = std::tuple{relay::attr("axis", &DequantizeAttrs::axis),
                                            relay::attr("out_dtype", &DequantizeAttrs::out_dtype)};
};
// Integers of blocks along `axis`, several in a byte of the last dimension where they are narrower.
struct DequantizeBlocksAttrs {
  std::int64_t axis = -1, block_size = 32, bits = 8;
  std::int64_t size = -1;  // elements of the last dimension; -1: as many as it has room for
  static constexpr auto fields =
      std::tuple{relay::attr("axis", &DequantizeBlocksAttrs::axis),
                 relay::attr("block_size", &DequantizeBlocksAttrs::block_size),
                 relay::attr("bits", &DequantizeBlocksAttrs::bits),
                 relay::attr("size", &DequantizeBlocksAttrs::size)};
};
// Floats of eight bits as their codes; constants/float8.h knows the formats.
struct QuantizeFloat8Attrs {
  std::string format = "e4m3fn";
  bool saturate = true;  // what is too large becomes the largest number
  static constexpr auto fields =
      std::tuple{relay::attr("format", &QuantizeFloat8Attrs::format),
                 relay::attr("saturate", &QuantizeFloat8Attrs::saturate)};
};
struct Float8Attrs {
  std::string format = "e4m3fn";
  static constexpr auto fields = std::tuple{relay::attr("format", &Float8Attrs::format)};
};
struct DenseFloat8Attrs {
  std::string data_format = "e4m3fn", weight_format = "e4m3fn";
  static constexpr auto fields =
      std::tuple{relay::attr("data_format", &DenseFloat8Attrs::data_format),
                 relay::attr("weight_format", &DenseFloat8Attrs::weight_format)};
};
// A matrix of integers, stored with the terms of a column one after the other, and in blocks of
// these.
struct DenseMixedAttrs {
  std::int64_t block_size = 32, bits = 8;
  static constexpr auto fields = std::tuple{relay::attr("block_size", &DenseMixedAttrs::block_size),
                                            relay::attr("bits", &DenseMixedAttrs::bits)};
};
// A matrix of blocks of integers, stored in columns side by side (records/block_columns.h).
struct BlockColumnsAttrs {
  std::int64_t units = 0;  // columns
  std::int64_t block_size = 32, bits = 4;
  std::int64_t terms = 0;  // rows; where it is 0 the other operand of the product says it
  static constexpr auto fields =
      std::tuple{relay::required_attr("units", &BlockColumnsAttrs::units),
                 relay::attr("block_size", &BlockColumnsAttrs::block_size),
                 relay::attr("bits", &BlockColumnsAttrs::bits),
                 relay::attr("terms", &BlockColumnsAttrs::terms)};
};

}  // namespace tessera::ops
