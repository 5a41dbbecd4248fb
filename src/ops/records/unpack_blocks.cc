// SPDX-License-Identifier: Apache-2.0
#include "ops/records/block_columns.h"

namespace tessera::ops {
namespace {

Result<Type> infer_unpack_blocks(const InferArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  if (p.terms < 0) return refuse(args, Code::kWrongAttribute, "has {} rows", p.terms);
  TESSERA_TRY_VOID(expect_block_columns(args, p, 0, Dim(p.terms)));
  return tensor_type({Dim(p.terms), Dim(p.units)}, kFloat32);
}

std::vector<Tensor> eval_unpack_blocks(const EvalArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  return {tensor_of(args.result, block_columns(args, p, 0, p.terms))};
}

Definitions compute_unpack_blocks(const ComputeArgs& args) {
  const auto p = relay::read_attrs<BlockColumnsAttrs>(args.attrs);
  const std::int64_t each = elements_of_a_word(p);
  const TensorExpr &words = args.operands[0], &scales = args.operands[1], &zeros = args.operands[2];
  return define(args, "y", [&](const Indices& i) {
    const Expr tile = tir::floor_div(i[1], kColumnsOfATile);
    const Expr column = tir::floor_mod(i[1], kColumnsOfATile);
    const Expr block = tir::floor_div(i[0], p.block_size);
    const Expr word = tir::floor_div(tir::floor_mod(i[0], p.block_size), each);
    const Expr shift = tir::cast(tir::floor_mod(i[0], each) * p.bits, kInt32);
    const Expr shifted = tir::call(
        "shift_right", {words({tile, block * words_of_a_block(p) + word, column}), shift});
    const Expr q = tir::call("bitwise_and", {shifted, tir::imm((1 << p.bits) - 1, kInt32)});
    const Expr zero = zeros.rank() == 0 ? zeros({}) : zeros({tile, block, column});
    return (tir::cast(q, kFloat32) - tir::cast(zero, kFloat32)) *
           tir::cast(scales({tile, block, column}), kFloat32);
  });
}

}  // namespace

constexpr Operator kUnpackBlocks{
    .name = "qnn.unpack_blocks",
    .doc =
        "y[k, n] = (q[k, n] - zero_point) * scale, the matrix that `qnn.dense_blocks` multiplies "
        "by   weight: int32[tiles, blocks * block_size * bits / 32, 16], scale: F[tiles, "
        "blocks, 16], zero_point: G[] or G[tiles, blocks, 16] -> float32[terms, "
        "units]; F and G are float32 or bfloat16",
    .operands = {"weight", "scale", "zero_point"},
    .attrs = relay::attr_schema<BlockColumnsAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_unpack_blocks,
    .eval = eval_unpack_blocks,
    .compute = compute_unpack_blocks,
    .samples =
        {"qnn.unpack_blocks(int32[1,8,16]{-2147483648..2147483647}, float32[1,2,16], float32[]=8, "
         "units=16, terms=64)",
         "qnn.unpack_blocks(int32[2,6,16]{-2147483648..2147483647}, float32[2,3,16], "
         "float32[2,3,16], units=19, block_size=16, terms=40)",
         "qnn.unpack_blocks(int32[2,8,16]{-2147483648..2147483647}, bfloat16[2,2,16], float32[]=8, "
         "units=32, terms=60)",
         "qnn.unpack_blocks(int32[1,16,16]{-2147483648..2147483647}, float32[1,4,16], "
         "float32[1,4,16], units=5, block_size=16, bits=8, terms=50)"},
};

}  // namespace tessera::ops
