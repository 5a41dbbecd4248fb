// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"

#include "tir/fragments.h"

namespace tessera::ops {
namespace {

constexpr std::size_t kMatrix = 1;  // the first operand of a product that is the matrix

// The sizes of the words but for the tiles.
std::pair<Dim, std::int64_t> words_of_a_tile(const BlockColumnsAttrs& p, const Dim& terms,
                                             WordOrder order) {
  if (order == WordOrder::kFragments) {
    return {ceil_div(terms, tir::terms_of_a_step(p.bits)), tir::kFragmentWords};
  }
  return {ceil_div(terms, p.block_size) * Dim(words_of_a_block(p)), kColumnsOfATile};
}

}  // namespace

Result<void> expect_block_columns(const InferArgs& args, const BlockColumnsAttrs& p,
                                  std::size_t first, const Dim& terms, WordOrder order) {
  if (p.bits != 2 && p.bits != 4 && p.bits != 8) {
    return refuse(args, Code::kWrongAttribute, "has {} bits; there are 2, 4 and 8", p.bits);
  }
  if (p.block_size < 1 || p.block_size > INT32_MAX || p.block_size * p.bits % 32 != 0) {
    return refuse(args, Code::kWrongAttribute, "has blocks of {} elements, which fill no words",
                  p.block_size);
  }
  const bool is_for_gpu = order == WordOrder::kFragments;
  if (is_for_gpu && p.block_size % tir::kFragmentTerms != 0) {
    return refuse(args, Code::kWrongAttribute, "has blocks of {} elements, no multiple of {}",
                  p.block_size, tir::kFragmentTerms);
  }
  if (p.units < 0) return refuse(args, Code::kWrongAttribute, "has {} columns", p.units);
  const Type &weight = args.operands[first], &scale = args.operands[first + 1];
  const Type& zero = args.operands[first + 2];
  const auto is_float = [&](const Type& t) {
    return t.dtype() == kFloat32 || t.dtype() == kBFloat16 || (is_for_gpu && t.dtype() == kFloat16);
  };
  if (weight.dtype() != kInt32 || !is_float(scale) || !is_float(zero)) {
    return refuse(args, Code::kDtypeMismatch,
                  "takes int32, and float32 or {} twice, not {}, {} and {}",
                  is_for_gpu ? "16 bits" : "bfloat16", to_string(weight.dtype()),
                  to_string(scale.dtype()), to_string(zero.dtype()));
  }
  const Dim tiles = Dim(tiles_of(p.units));
  const Dim blocks = ceil_div(terms, p.block_size);
  for (std::size_t i = first; i < first + 3; ++i) {
    const Shape& shape = args.operands[i].shape();
    if (i == first + 2 && shape.empty()) continue;
    TESSERA_TRY_VOID(expect_rank(args, i, 3));
    const auto [rows, across] =
        i == first ? words_of_a_tile(p, terms, order) : std::pair(blocks, kColumnsOfATile);
    TESSERA_TRY_VOID(agreed(args, shape[0], tiles, "tiles of columns"));
    TESSERA_TRY_VOID(agreed(args, shape[1], rows, "sizes of a column"));
    TESSERA_TRY_VOID(agreed(args, shape[2], Dim(across), "columns of a tile"));
  }
  return {};
}

Elements<double> block_columns(const EvalArgs& args, const BlockColumnsAttrs& p, std::size_t first,
                               std::int64_t terms, WordOrder order) {
  const Elements<std::int64_t> words = values_of<std::int64_t>(args.operands[first]);
  const Elements<double> scale = values_of<double>(args.operands[first + 1]);
  const Elements<double> zero = values_of<double>(args.operands[first + 2]);
  const bool has_one_zero = args.operands[first + 2].is_scalar();
  const std::int64_t each = elements_of_a_word(p), rows = args.operands[first].shape[1];
  const auto integer = [&](std::int64_t tile, std::int64_t column, std::int64_t k) {
    std::int64_t at = (tile * rows + k / each) * kColumnsOfATile + column;
    std::int64_t shift = k % each * p.bits;
    if (order == WordOrder::kFragments) {
      const auto place = tir::fragment_place(column, k, p.bits);
      at = (tile * rows + place.step) * tir::kFragmentWords + place.word;
      shift = place.shift;
    }
    return words[at] >> shift & ((1 << p.bits) - 1);
  };
  const std::int64_t blocks = args.operands[first + 1].shape[1];
  Elements<double> out;
  for (std::int64_t k = 0; k < terms; ++k) {
    for (std::int64_t n = 0; n < p.units; ++n) {
      const std::int64_t tile = n / kColumnsOfATile, column = n % kColumnsOfATile;
      const std::int64_t q = integer(tile, column, k);
      const std::int64_t block = (tile * blocks + k / p.block_size) * kColumnsOfATile + column;
      out.push_back((static_cast<double>(q) - zero[has_one_zero ? 0 : block]) * scale[block]);
    }
  }
  return out;
}

Result<Type> infer_block_product(const InferArgs& args, WordOrder order) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_float(args, 0));
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 1));
  Shape shape = args.operands[0].shape();
  TESSERA_TRY_VOID(expect_block_columns(args, p, kMatrix, shape.back(), order));
  if (p.terms != 0) {
    TESSERA_TRY_VOID(agreed(args, shape.back(), Dim(p.terms), "contraction sizes"));
  }
  shape.back() = Dim(p.units);
  return tensor_type(std::move(shape), args.operands[0].dtype());
}

std::vector<Tensor> eval_block_product(const EvalArgs& args, WordOrder order) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  const std::int64_t terms = args.operands[0].shape.back();
  const Elements<double> x = values_of<double>(args.operands[0]);
  const Elements<double> w = block_columns(args, p, kMatrix, terms, order);
  Elements<double> out;
  const std::int64_t count = count_of(static_shape(args.result));
  for (std::int64_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::int64_t k = 0; k < terms; ++k) {
      sum += x[i / p.units * terms + k] * w[k * p.units + i % p.units];
    }
    out.push_back(sum);
  }
  return {tensor_of(args.result, out)};
}

}  // namespace tessera::ops
