// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

constexpr std::size_t kWeight = 1;  // the first operand of the matrix

// Element k of the data in float32; after the last one there are zeros for the rest of a block.
Expr element_of(const ComputeArgs& args, const BlockColumnsAttrs& p, Indices at) {
  const TensorExpr& data = args.operands[0];
  const Expr k = at.back(), value = tir::cast(data(std::move(at)), kFloat32);
  const auto terms = args.operand_types[0].shape().back().as_constant();
  if (terms && *terms % p.block_size == 0) return value;
  return tir::select(tir::lt(k, data.shape().back()), value, tir::imm(0, kFloat32));
}

// How many words a column has.
Expr words_of_a_column(const ComputeArgs& args, const BlockColumnsAttrs& p) {
  const Expr terms = args.operands[0].shape().back();
  return tir::floor_div(terms + (p.block_size - 1), p.block_size) * words_of_a_block(p);
}

// A mask alone takes all integers but the last of a word, where they are: they count
// 2^shift times. So their factors are as much smaller.
TensorExpr factors(const ComputeArgs& args, const BlockColumnsAttrs& p) {
  const std::int64_t each = elements_of_a_word(p);
  std::vector<Expr> shape = args.operands[0].shape();
  shape.back() = words_of_a_column(args, p);
  shape.emplace_back(each);
  return tir::compute("factors", shape, [&](const Indices& i) {
    Indices at(i.begin(), i.end() - 1);
    at.back() = at.back() * each + i.back();
    const Expr shift = tir::cast(i.back() * p.bits, kInt32);
    const Expr weight = tir::cast(tir::call("shift_left", {tir::imm(1, kInt32), shift}), kFloat32);
    const Expr one = tir::imm(1, kFloat32);
    return element_of(args, p, at) * tir::select(tir::eq(i.back(), each - 1), one, one / weight);
  });
}

// What a zero point of 1, or the only one there is, takes from a word's products.
TensorExpr shifts(const ComputeArgs& args, const BlockColumnsAttrs& p) {
  const std::int64_t each = elements_of_a_word(p);
  const TensorExpr& zeros = args.operands[kWeight + 2];
  std::vector<Expr> shape = args.operands[0].shape();
  shape.back() = words_of_a_column(args, p);
  const IterAxis part = tir::reduce_axis(each, "part");
  const TensorExpr sums = tir::compute("sums", shape, [&](const Indices& i) {
    Indices at = i;
    at.back() = at.back() * each + part.var;
    return tir::sum({part}, element_of(args, p, at));
  });
  if (zeros.rank() > 0) return sums;
  return tir::compute("shifts", shape,
                      [&](const Indices& i) { return sums(i) * tir::cast(zeros({}), kFloat32); });
}

Definitions compute_dense_blocks(const ComputeArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  const TensorExpr &words = args.operands[kWeight], &scales = args.operands[kWeight + 1];
  const TensorExpr& zeros = args.operands[kWeight + 2];
  const TensorExpr x = factors(args, p), sums = shifts(args, p);
  const std::int64_t each = elements_of_a_word(p), mask = (std::int64_t{1} << p.bits) - 1;
  const Expr terms = args.operands[0].shape().back();
  const IterAxis block =
      tir::reduce_axis(tir::floor_div(terms + (p.block_size - 1), p.block_size), "block");
  const IterAxis word = tir::reduce_axis(words_of_a_block(p), "word");
  std::vector<Expr> tiled = result_shape(args);
  tiled.back() = tiles_of(p.units);
  tiled.emplace_back(kColumnsOfATile);
  const TensorExpr product = tir::compute("product", tiled, [&](const Indices& i) {
    const Expr &tile = i[i.size() - 2], &column = i.back();
    Indices at(i.begin(), i.end() - 2);
    at.push_back(block.var * words_of_a_block(p) + word.var);
    const Expr q = words({tile, at.back(), column});
    Expr sum = zeros.rank() == 0 ? sums(at)
                                 : tir::cast(zeros({tile, block.var, column}), kFloat32) * sums(at);
    for (std::int64_t part = 0; part < each; ++part) {
      const bool is_last = part + 1 == each;
      const Expr moved =
          is_last ? tir::call("shift_right", {q, tir::int_imm(part * p.bits, kInt32)}) : q;
      const Expr bits = tir::int_imm(is_last ? mask : mask << (part * p.bits), kInt32);
      Indices of_part = at;
      of_part.emplace_back(part);
      const Expr term = x(of_part) * tir::cast(tir::call("bitwise_and", {moved, bits}), kFloat32);
      sum = part == 0 ? term - sum : sum + term;
    }
    const Expr scale = tir::cast(scales({tile, block.var, column}), kFloat32);
    return tir::sum({block, word}, sum * scale);
  });
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at.back() = tir::floor_div(i.back(), kColumnsOfATile);
    at.push_back(tir::floor_mod(i.back(), kColumnsOfATile));
    return tir::cast(product(at), result_dtype(args));
  });
}

}  // namespace

constexpr Operator kDenseBlocks{
    .name = "qnn.dense_blocks",
    .doc =
        "y[b..., n] = sum over k of data[b..., k] * (q[k, n] - zero_point) * scale, with a scale "
        "and a zero point for each `block_size` elements of a column; q are integers of `bits` "
        "bits, in words of 32 bits that have elements of one column from the low bits on, those "
        "of 16 columns side by side, and a column's last block is whole. Infinite data give NaN   "
        "data: T[b..., k], "
        "weight: int32[tiles, blocks * block_size * bits / 32, 16], scale: F[tiles, "
        "blocks, 16], zero_point: G[] or G[tiles, blocks, 16] -> T[b..., units]; F and "
        "G are float32 or bfloat16",
    .operands = {"data", "weight", "scale", "zero_point"},
    .attrs = relay::attr_schema<BlockColumnsAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = [](const InferArgs& args) { return infer_block_product(args, WordOrder::kColumns); },
    .eval = [](const EvalArgs& args) { return eval_block_product(args, WordOrder::kColumns); },
    .compute = compute_dense_blocks,
    .flops = [](const CostArgs& args) { return matmul_flops(args, {}); },
    .samples =
        {"qnn.dense_blocks(float32[1,64], int32[1,8,16]{-2147483648..2147483647}, float32[1,2,16], "
         "float32[]=8, units=9)",
         "qnn.dense_blocks(float32[2,3,40], int32[2,6,16]{-2147483648..2147483647}, "
         "float32[2,3,16], "
         "float32[2,3,16], units=19, block_size=16)",
         "qnn.dense_blocks(float32[9,50], int32[1,16,16]{-2147483648..2147483647}, "
         "float32[1,4,16], "
         "float32[1,4,16], units=16, block_size=16, bits=8, terms=50)",
         "qnn.dense_blocks(float16[4,64], int32[2,4,16]{-2147483648..2147483647}, float32[2,1,16], "
         "float32[]=2, units=32, block_size=64, bits=2)",
         "qnn.dense_blocks(float32[5,70], int32[3,12,16]{-2147483648..2147483647}, "
         "bfloat16[3,3,16], bfloat16[3,3,16], units=40)",
         "qnn.dense_blocks(float32[0,32], int32[1,4,16], float32[1,1,16], float32[]=8, units=4)"},
};

}  // namespace tessera::ops
