// SPDX-License-Identifier: Apache-2.0
// Weights of a few bits, with a scale for each block of them: onnxruntime's MatMulNBits and
// GatherBlockQuantized. They stay packed until the run.
#include <cmath>

#include "import/converters.h"
#include "import/quantization.h"

namespace tessera::import {
namespace {

std::int64_t bits_of(Node& n) {
  const std::int64_t bits = n.int_attr("bits", 4);
  if (bits == 2 || bits == 4 || bits == 8) return bits;
  n.unsupported(fmt::format("a quantisation to {} bits", bits));
}

std::int64_t block_size_of(Node& n, std::int64_t fallback) {
  const std::int64_t size = n.int_attr("block_size", fallback);
  if (size >= 16 && size <= (std::int64_t{1} << 30) && (size & (size - 1)) == 0) return size;
  n.invalid(Code::kWrongAttribute,
            fmt::format("its block_size is {}, which is no power of two from 16 on", size));
}

// Zero points of a few bits, several in a byte of each row, as bytes of this shape. Old files have
// all rows in one dimension.
Value unpacked(Node& n, std::size_t i, std::int64_t bits, const Ints& shape) {
  const Tensor packed = n.need_constant(i, "a tensor of zero points");
  const std::int64_t each = 8 / bits, count = shape.back();
  const std::int64_t bytes = count / each + (count % each == 0 ? 0 : 1);
  const std::int64_t rows = product(shape, 0, shape.size() - 1);
  if (packed.dtype != kUInt8 || packed.num_elements() != product({rows, bytes})) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("its zero points have the type {}, and there are {} rows of {}",
                          to_string(packed.type()), rows, count));
  }
  Ints values;
  for (std::int64_t at = 0; at < packed.num_elements(); ++at) {
    const std::int64_t byte = element_as_int(packed, at);
    for (std::int64_t k = 0; k < each && at % bytes * each + k < count; ++k) {
      values.push_back(byte >> (k * bits) & ((1 << bits) - 1));
    }
  }
  return {n, n.constant(tensor_from_ints(shape, kUInt8, values))};
}

// Zero points as floats may lie anywhere between the values of the type, and beyond; they are
// numbers.
void expect_numbers(Node& n, std::size_t i) {
  const auto zero = n.constant(n.input(i));
  for (std::int64_t at = 0; zero && at < zero->num_elements(); ++at) {
    if (std::isfinite(element_as_double(*zero, at))) continue;
    n.invalid(Code::kWrongAttribute, fmt::format("its zero point {} is no number", at));
  }
}

// What MatMulNBits multiplies by: [N, K].
Value weight(Node& n, std::int64_t width, std::int64_t rows) {
  const std::int64_t bits = bits_of(n), block = block_size_of(n, 0);
  const std::int64_t blocks = width / block + (width % block == 0 ? 0 : 1);
  const Ints parameters = {rows, blocks};
  const Value packed = input(n, 1), scale = input(n, 2);
  if (packed.dtype() != kUInt8 || packed.sizes() != Ints{rows, blocks, block / 8 * bits} ||
      product(scale.sizes()) != product(parameters)) {
    n.invalid(Code::kShapeMismatch,
              fmt::format("a weight of {} rows of {} elements is not of the types {} and {}", rows,
                          width, to_string(n.type(packed)), to_string(n.type(scale))));
  }
  Value zero(n, n.scalar(static_cast<double>(1 << (bits - 1)), kUInt8));
  if (n.has_input(3) && n.dtype(n.input(3)).is_float()) {
    expect_numbers(n, 3);
    zero = input(n, 3).reshape(parameters);
  } else if (n.has_input(3)) {
    zero = unpacked(n, 3, bits, parameters);
  }
  return {n, n.call("qnn.dequantize_blocks", {packed.merge(1, 3), scale.reshape(parameters), zero},
                    {{"axis", -1}, {"block_size", block}, {"bits", bits}, {"size", width}})};
}

std::vector<NodeId> convert_matmul_nbits(Node& n) {
  n.ignore_attr("accuracy_level");  // the least that is asked for
  if (n.int_attr("weight_prepacked", 0) != 0) n.unsupported("a weight in the order of one GPU");
  if (n.has_input(4)) n.unsupported("g_idx");
  const std::int64_t width = n.need_int_attr("K"), rows = n.need_int_attr("N");
  if (width < 1 || rows < 1) {
    n.invalid(Code::kWrongAttribute, fmt::format("its weight has K = {} and N = {}", width, rows));
  }
  const Value x = input(n, 0);
  if (x.rank() < 1) n.invalid(Code::kShapeMismatch, "its input is a scalar");
  Value y(n, n.call("nn.dense", {x, weight(n, width, rows)}, {{"units", relay::AttrValue()}}));
  if (n.has_input(5)) y = y + input(n, 5);
  return {y};
}

// Rows of a packed table, as floats. Where no row is, there are zeros.
std::vector<NodeId> convert_gather_blocks(Node& n) {
  const Value data = input(n, 0), scale = input(n, 2);
  const std::int64_t block = block_size_of(n, 128), rank = data.rank();
  const std::int64_t gathered = n.axis(n.int_attr("gather_axis", 0), rank);
  const std::int64_t axis = n.axis(n.int_attr("quantize_axis", 1), rank);
  if (scale.rank() != rank) n.invalid(Code::kShapeMismatch, "data and scales differ in rank");
  const bool is_packed = !n.is_narrow(0);
  const std::int64_t bits = is_packed ? bits_of(n) : 8;
  n.ignore_attr("bits");
  if (gathered == axis || (bits < 8 && gathered == rank - 1)) {
    n.unsupported("gathering along the blocks or along packed elements");
  }
  const Value at = input(n, 1).cast(kInt64), count = sizes_of(data, gathered, gathered + 1);
  const Value place = where(at < 0.0, at + count.reshape({}), at);
  Value zero(n, n.scalar(is_packed ? 1 << (bits - 1) : 0, kInt32));
  expect_zero_points_of(n, 3, 0);
  if (n.has_input(3)) {
    zero = bits < 8 ? unpacked(n, 3, bits, scale.sizes()) : input(n, 3);
    zero = zero.take(place, gathered);
  }
  const std::int64_t moved = axis > gathered ? axis + at.rank() - 1 : axis;
  Value y(n, n.call("qnn.dequantize_blocks",
                    {data.take(place, gathered), scale.take(place, gathered), zero},
                    {{"axis", moved}, {"block_size", block}, {"bits", bits}}));
  Value is_row = place >= 0.0 && place < count.reshape({});
  for (std::int64_t d = 0; d + 1 + gathered < rank; ++d) is_row = is_row.expand_dims(is_row.rank());
  return {where(is_row, y, y.number(0))};
}

constexpr Converter kBlocksTable[] = {
    {"com.microsoft.MatMulNBits", 1, convert_matmul_nbits},
    {"com.microsoft.GatherBlockQuantized", 1, convert_gather_blocks},
};

}  // namespace

extern const std::span<const Converter> blocks_converters;
const std::span<const Converter> blocks_converters = kBlocksTable;

}  // namespace tessera::import
