// SPDX-License-Identifier: Apache-2.0
#include "passes/block_matrix.h"

#include <algorithm>

#include "ops/attrs/shape.h"
#include "relay/operator.h"

namespace tessera::passes {
namespace {

using relay::Function;
using relay::is_call_of;
using relay::NodeId;

bool is_swap(const Function& f, NodeId transpose) {
  const auto attrs = relay::read_attrs<ops::TransposeAttrs>(f.as<relay::OpCall>(transpose)->attrs);
  return !attrs.axes || attrs.axes->at(0) == 1 || attrs.axes->at(0) == -1;
}

}  // namespace

std::optional<RowProduct> block_product(const Function& f, NodeId id) {
  std::optional<RowProduct> p = row_product(f, id);
  if (!p) return std::nullopt;
  NodeId matrix = p->matrix;
  while (f.type(matrix).rank() == 2) {
    const bool is_transposed = is_call_of(f, matrix, "transpose") && is_swap(f, matrix);
    if (!is_transposed && !is_call_of(f, matrix, "cast")) break;
    if (is_transposed) p->has_rows_of_terms = !p->has_rows_of_terms;
    matrix = f.operands(matrix)[0];
  }
  if (!is_call_of(f, matrix, "qnn.dequantize_blocks") || f.type(matrix).rank() != 2) {
    return std::nullopt;
  }
  p->matrix = matrix;
  const auto operands = f.operands(matrix);
  const bool are_constants = std::all_of(operands.begin(), operands.end(), [&](NodeId operand) {
    return f.as<relay::Constant>(operand) != nullptr;
  });
  return are_constants ? p : std::nullopt;
}

BlockConstants block_constants(const Function& f, const ConstantPool& pool, NodeId matrix) {
  const auto operands = f.operands(matrix);
  const auto tensor = [&](std::size_t i) -> const Tensor& {
    return pool.resolve(f.as<relay::Constant>(operands[i])->value);
  };
  return {tensor(0), tensor(1), tensor(2),
          relay::read_attrs<ops::DequantizeBlocksAttrs>(f.as<relay::OpCall>(matrix)->attrs)};
}

SizeRange rows_of(const Type& data, const SymbolTable& symbols, std::int64_t most) {
  SizeRange all{1, 1};
  const std::int64_t many = most + 1;
  for (std::size_t d = 0; d + 1 < data.rank(); ++d) {
    const SizeRange size = range_of(data.shape()[d], symbols);
    all.min = std::min(many, all.min * std::min(many, size.min));
    const bool is_open = (all.max < 0 && size.max != 0) || (size.max < 0 && all.max != 0);
    all.max = is_open ? -1 : std::min(many, all.max * std::min(many, size.max));
  }
  return all;
}

BlockMatrix::BlockMatrix(const BlockConstants& c, bool has_rows_of_terms)
    : bytes_(c.data.blob->bytes()),
      bits_(c.attrs.bits),
      row_bytes_(c.data.shape[1]),
      is_signed_(c.data.dtype == kInt8),
      has_rows_of_terms_(has_rows_of_terms) {
  const std::int64_t length = c.attrs.size >= 0 ? c.attrs.size : row_bytes_ * (8 / bits_);
  columns = has_rows_of_terms ? c.data.shape[0] : length;
  terms = has_rows_of_terms ? length : c.data.shape[0];
}

std::int64_t BlockMatrix::at(std::int64_t column, std::int64_t term) const {
  const std::int64_t row = has_rows_of_terms_ ? column : term;
  const std::int64_t place = has_rows_of_terms_ ? term : column;
  const std::int64_t each = 8 / bits_;
  const auto byte = std::to_integer<std::uint8_t>(
      bytes_[static_cast<std::size_t>(row * row_bytes_ + place / each)]);
  if (is_signed_) return static_cast<std::int8_t>(byte);
  return byte >> (place % each * bits_) & ((1 << bits_) - 1);
}

bool has_blocks_of_terms(const BlockConstants& c, bool has_rows_of_terms) {
  const std::int64_t axis = c.attrs.axis < 0 ? c.attrs.axis + 2 : c.attrs.axis;
  return axis == (has_rows_of_terms ? 1 : 0);
}

bool holds_four_bits(const Tensor& data) {
  const bool is_signed = data.dtype == kInt8;
  const std::int64_t low = is_signed ? -8 : 0;
  return std::ranges::all_of(data.blob->bytes(), [&](std::byte b) {
    const auto byte = std::to_integer<std::uint8_t>(b);
    const std::int64_t value = is_signed ? static_cast<std::int8_t>(byte) : std::int64_t{byte};
    return value >= low && value <= low + 15;
  });
}

}  // namespace tessera::passes
