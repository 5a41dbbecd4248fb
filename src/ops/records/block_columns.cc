// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"

namespace tessera::ops {

Result<void> expect_block_columns(const InferArgs& args, const BlockColumnsAttrs& p,
                                  std::size_t first, const Dim& terms) {
  if (p.bits != 2 && p.bits != 4 && p.bits != 8) {
    return refuse(args, Code::kWrongAttribute, "has {} bits; there are 2, 4 and 8", p.bits);
  }
  if (p.block_size < 1 || p.block_size > INT32_MAX || p.block_size * p.bits % 32 != 0) {
    return refuse(args, Code::kWrongAttribute, "has blocks of {} elements, which fill no words",
                  p.block_size);
  }
  if (p.units < 0) return refuse(args, Code::kWrongAttribute, "has {} columns", p.units);
  const Type &weight = args.operands[first], &scale = args.operands[first + 1];
  const Type& zero = args.operands[first + 2];
  const auto is_float = [](const Type& t) {
    return t.dtype() == kFloat32 || t.dtype() == kBFloat16;
  };
  if (weight.dtype() != kInt32 || !is_float(scale) || !is_float(zero)) {
    return refuse(args, Code::kDtypeMismatch,
                  "takes int32, and float32 or bfloat16 twice, not {}, {} and {}",
                  to_string(weight.dtype()), to_string(scale.dtype()), to_string(zero.dtype()));
  }
  const Dim tiles = Dim(tiles_of(p.units));
  const Dim blocks = ceil_div(terms, p.block_size);
  for (std::size_t i = first; i < first + 3; ++i) {
    const Shape& shape = args.operands[i].shape();
    if (i == first + 2 && shape.empty()) continue;
    TESSERA_TRY_VOID(expect_rank(args, i, 3));
    const Dim rows = i == first ? blocks * Dim(words_of_a_block(p)) : blocks;
    TESSERA_TRY_VOID(agreed(args, shape[0], tiles, "tiles of columns"));
    TESSERA_TRY_VOID(agreed(args, shape[1], rows, "sizes of a column"));
    TESSERA_TRY_VOID(agreed(args, shape[2], Dim(kColumnsOfATile), "columns of a tile"));
  }
  return {};
}

Elements<double> block_columns(const EvalArgs& args, const BlockColumnsAttrs& p, std::size_t first,
                               std::int64_t terms) {
  const Elements<std::int64_t> words = values_of<std::int64_t>(args.operands[first]);
  const Elements<double> scale = values_of<double>(args.operands[first + 1]);
  const Elements<double> zero = values_of<double>(args.operands[first + 2]);
  const bool has_one_zero = args.operands[first + 2].is_scalar();
  const std::int64_t each = elements_of_a_word(p), rows = args.operands[first].shape[1];
  const std::int64_t blocks = args.operands[first + 1].shape[1];
  Elements<double> out;
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t n = 0; n < p.units; ++n) {
      const std::int64_t tile = n / kColumnsOfATile, column = n % kColumnsOfATile;
      const std::int64_t word = words[(tile * rows + k / each) * kColumnsOfATile + column];
      const std::int64_t q = word >> (k % each * p.bits) & ((1 << p.bits) - 1);
      const std::int64_t block = (tile * blocks + k / p.block_size) * kColumnsOfATile + column;
      out.push_back((static_cast<double>(q) - zero[has_one_zero ? 0 : block]) * scale[block]);
    }
  }
  return out;
}

}  // namespace tessera::ops
