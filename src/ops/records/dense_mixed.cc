// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/matmul_family.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

enum Operands : std::size_t { kData, kWeight, kScale };
enum Parameters : std::int64_t { kFactor, kOffset };  // along the scale's first dimension

std::int64_t integers_of_a_byte(const DenseMixedAttrs& p) { return 8 / p.bits; }

Result<void> expect_types(const InferArgs& args, const DenseMixedAttrs& p) {
  if (p.bits != 4 && p.bits != 8) {
    return refuse(args, Code::kWrongAttribute, "has {} bits; there are 4 and 8", p.bits);
  }
  if (p.block_size < 1) {
    return refuse(args, Code::kWrongAttribute, "has blocks of {} elements", p.block_size);
  }
  TESSERA_TRY_VOID(expect_float(args, kData));
  TESSERA_TRY_VOID(expect_float(args, kScale));
  if (args.operands[kWeight].dtype() != kInt8) {
    return refuse(args, Code::kDtypeMismatch, "takes integers as int8, not {}",
                  to_string(args.operands[kWeight].dtype()));
  }
  return {};
}

Result<Type> infer_dense_mixed(const InferArgs& args) {
  const auto p = relay::read_attrs<DenseMixedAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_types(args, p));
  TESSERA_TRY_VOID(expect_min_rank(args, kData, 1));
  TESSERA_TRY_VOID(expect_rank(args, kWeight, 2));
  TESSERA_TRY_VOID(expect_rank(args, kScale, 3));
  const Shape &weight = args.operands[kWeight].shape(), &scale = args.operands[kScale].shape();
  Shape shape = args.operands[kData].shape();
  TESSERA_TRY_VOID(
      agreed(args, shape.back(), weight[1] * Dim(integers_of_a_byte(p)), "contraction sizes"));
  TESSERA_TRY_VOID(
      agreed(args, scale[1], ceil_div(shape.back(), p.block_size), "numbers of blocks"));
  TESSERA_TRY_VOID(agreed(args, scale[2], weight[0], "numbers of columns"));
  if (scale[0] != Dim(1) && scale[0] != Dim(2)) {
    return refuse(args, Code::kShapeMismatch, "has {} numbers a block; there are one and two",
                  to_string(scale[0]));
  }
  shape.back() = weight[0];
  return tensor_type(std::move(shape), args.operands[kData].dtype());
}

// The matrix as numbers, [columns, terms].
Elements<double> matrix_of(const EvalArgs& args, const DenseMixedAttrs& p, std::int64_t terms) {
  const Elements<std::int64_t> bytes = values_of<std::int64_t>(args.operands[kWeight]);
  const Elements<double> scale = values_of<double>(args.operands[kScale]);
  const Ints& shape = args.operands[kScale].shape;
  const std::int64_t columns = shape[2], each = integers_of_a_byte(p);
  const auto parameter = [&](std::int64_t which, std::int64_t block, std::int64_t column) {
    return which < shape[0] ? scale[(which * shape[1] + block) * columns + column] : 0.0;
  };
  Elements<double> matrix;
  for (std::int64_t n = 0; n < columns; ++n) {
    for (std::int64_t k = 0; k < terms; ++k) {
      std::int64_t q = bytes[n * (terms / each) + k / each];
      if (p.bits == 4) q = ((q >> (k % each * 4) & 15) ^ 8) - 8;
      const std::int64_t block = k / p.block_size;
      matrix.push_back(static_cast<double>(q) * parameter(kFactor, block, n) +
                       parameter(kOffset, block, n));
    }
  }
  return matrix;
}

std::vector<Tensor> eval_dense_mixed(const EvalArgs& args) {
  const auto p = relay::read_attrs<DenseMixedAttrs>(args.attrs);
  const std::int64_t terms = args.operands[kData].shape.back();
  const std::int64_t columns = args.operands[kWeight].shape[0];
  const Elements<double> x = values_of<double>(args.operands[kData]);
  const Elements<double> w = matrix_of(args, p, terms);
  Elements<double> out;
  std::int64_t at = 0;
  for (Counter c(static_shape(args.result)); c; ++c, ++at) {
    const std::int64_t row = at / columns, column = at % columns;
    double sum = 0;
    for (std::int64_t k = 0; k < terms; ++k) sum += x[row * terms + k] * w[column * terms + k];
    out.push_back(sum);
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_dense_mixed(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DenseMixedAttrs>(args.attrs);
  const TensorExpr &data = args.operands[kData], &scale = args.operands[kScale];
  const bool has_offsets = tir::is_int(scale.shape()[0], 2);
  const IterAxis k = tir::reduce_axis(data.shape().back(), "k");
  const std::int64_t each = integers_of_a_byte(p);
  const auto integer = [&](const Expr& column) {
    const Expr byte =
        tir::cast(args.operands[kWeight]({column, tir::floor_div(k.var, each)}), kInt32);
    if (p.bits == 8) return byte;
    const Expr shift = tir::cast(tir::floor_mod(k.var, each) * p.bits, kInt32);
    const Expr bits =
        tir::call("bitwise_and", {tir::call("shift_right", {byte, shift}), tir::imm(15, kInt32)});
    return tir::call("bitwise_xor", {bits, tir::imm(8, kInt32)}) - tir::imm(8, kInt32);
  };
  const auto parameter = [&](std::int64_t which, const Expr& column) {
    return tir::cast(scale({Expr(which), tir::floor_div(k.var, p.block_size), column}), kFloat32);
  };
  const TensorExpr product = tir::compute(
      "product", result_shape(args),
      [&](const Indices& i) {
        Indices at = i;
        at.back() = k.var;
        Expr w = tir::cast(integer(i.back()), kFloat32) * parameter(kFactor, i.back());
        if (has_offsets) w = w + parameter(kOffset, i.back());
        return tir::sum({k}, w * tir::cast(data(at), kFloat32));
      },
      "matmul");
  return {converted(product, result_dtype(args))};
}

}  // namespace

constexpr Operator kDenseMixed{
    .name = "qnn.dense_mixed",
    .doc =
        "y[b..., n] = sum over k of data[b..., k] * (q[n, k] * scale[0, block, n] + scale[1, "
        "block, n]), with a block for each `block_size` terms; without the second numbers where "
        "the scale has one. q are signed integers of `bits` bits, those of a byte from its low "
        "bits on   data: T[b..., k], weight: int8[n, k * bits / 8], scale: F[1 or 2, blocks, n] -> "
        "T[b..., n]",
    .operands = {"data", "weight", "scale"},
    .attrs = relay::attr_schema<DenseMixedAttrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_dense_mixed,
    .eval = eval_dense_mixed,
    .compute = compute_dense_mixed,
    .flops = [](const CostArgs& args) { return matmul_flops(args, {}); },
    .samples = {"qnn.dense_mixed(float16[17,128], int8[24,64]{-128..127}, float16[1,2,24], "
                "block_size=64, bits=4)",
                "qnn.dense_mixed(float32[2,3,40], int8[9,40]{-128..127}, float32[2,2,9])",
                "qnn.dense_mixed(bfloat16[5,12], int8[3,6]{-128..127}, float32[2,2,3], "
                "block_size=8, bits=4)",
                "qnn.dense_mixed(float16[0,32], int8[4,32], float16[1,1,4])"},
};

}  // namespace tessera::ops
