// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/quantize.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

std::int64_t values_of_a_byte(const DequantizeBlocksAttrs& p) { return 8 / p.bits; }

Result<void> expect_form(const InferArgs& args, const DequantizeBlocksAttrs& p) {
  if (p.bits != 2 && p.bits != 4 && p.bits != 8) {
    return refuse(args, Code::kWrongAttribute, "has {} bits; there are 2, 4 and 8", p.bits);
  }
  if (p.block_size < 1) {
    return refuse(args, Code::kWrongAttribute, "has blocks of {} elements", p.block_size);
  }
  const Type &data = args.operands[0], &scale = args.operands[1];
  if (data.dtype() != kUInt8 && (data.dtype() != kInt8 || p.bits != 8)) {
    return refuse(args, Code::kDtypeMismatch, "cannot take {} for integers of {} bits",
                  to_string(data.dtype()), p.bits);
  }
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 1));
  TESSERA_TRY_VOID(expect_float(args, 1));
  TESSERA_TRY_VOID(expect_rank(args, 1, data.rank()));
  return args.operands[2].rank() == 0 ? Result<void>() : expect_rank(args, 2, scale.rank());
}

// The result's shape: the last dimension has several elements for a byte.
Result<Shape> unpacked_shape(const InferArgs& args, const DequantizeBlocksAttrs& p) {
  Shape shape = args.operands[0].shape();
  const auto room = shape.back().as_constant();
  if (p.size < 0 && p.bits == 8) return shape;
  if (!room || *room > INT64_MAX / 8 || p.size > *room * values_of_a_byte(p)) {
    return refuse(args, Code::kShapeMismatch, "has {} elements of {} bits in a dimension of {}",
                  p.size, p.bits, to_string(args.operands[0]));
  }
  shape.back() = Dim(p.size < 0 ? *room * values_of_a_byte(p) : p.size);
  return shape;
}

Result<Type> infer_dequantize_blocks(const InferArgs& args) {
  const auto p = relay::read_attrs<DequantizeBlocksAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_form(args, p));
  TESSERA_TRY(Shape shape, unpacked_shape(args, p));
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, shape.size()));
  for (const std::size_t operand : {std::size_t{1}, std::size_t{2}}) {
    const Shape& given = args.operands[operand].shape();
    for (std::size_t d = 0; d < given.size(); ++d) {
      const bool is_axis = static_cast<std::int64_t>(d) == axis;
      TESSERA_TRY_VOID(agreed(args, given[d], is_axis ? ceil_div(shape[d], p.block_size) : shape[d],
                              "numbers of blocks"));
    }
  }
  return tensor_type(std::move(shape), args.operands[1].dtype());
}

// The parameter of the block that index i lies in, or the only one.
double block_parameter(const Tensor& shaped, const Elements<double>& values, const Counter& i,
                       std::int64_t axis, std::int64_t block) {
  if (shaped.shape.empty()) return values[0];
  const Ints strides = row_major_strides(shaped.shape);
  return values[i.offset(strides) + (i[axis] / block - i[axis]) * strides[axis]];
}

std::vector<Tensor> eval_dequantize_blocks(const EvalArgs& args) {
  const auto p = relay::read_attrs<DequantizeBlocksAttrs>(args.attrs);
  const Ints shape = static_shape(args.result), strides = row_major_strides(args.operands[0].shape);
  const std::int64_t axis = front_axis(p.axis, shape.size()), each = values_of_a_byte(p);
  const Elements<std::int64_t> data = values_of<std::int64_t>(args.operands[0]);
  const Elements<double> scale = values_of<double>(args.operands[1]);
  const Elements<double> zero = values_of<double>(args.operands[2]);
  Elements<double> out;
  for (Counter c(shape); c; ++c) {
    const std::int64_t last = c[shape.size() - 1];
    std::int64_t q = data[c.offset(strides) - last + last / each];
    if (p.bits < 8) q = q >> (last % each * p.bits) & ((1 << p.bits) - 1);
    out.push_back(
        (static_cast<double>(q) - block_parameter(args.operands[2], zero, c, axis, p.block_size)) *
        block_parameter(args.operands[1], scale, c, axis, p.block_size));
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_dequantize_blocks(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DequantizeBlocksAttrs>(args.attrs);
  const std::int64_t axis = front_axis(p.axis, args.operands[0].rank());
  const std::int64_t each = values_of_a_byte(p);
  const DType type = result_dtype(args), wide = accumulator(type);
  const auto parameter = [&](const TensorExpr& t, Indices i) {
    if (t.rank() == 0) i.clear();
    if (t.rank() > 0) i[axis] = tir::floor_div(i[axis], p.block_size);
    return tir::cast(t(i), wide);
  };
  return define(args, "y", [&](const Indices& i) {
    Indices at = i;
    at.back() = tir::floor_div(i.back(), each);
    Expr q = tir::cast(args.operands[0](at), kInt32);
    if (p.bits < 8) {
      const Expr shift = tir::cast(tir::floor_mod(i.back(), each) * p.bits, kInt32);
      q = tir::call("bitwise_and",
                    {tir::call("shift_right", {q, shift}), tir::imm((1 << p.bits) - 1, kInt32)});
    }
    const Expr centred = tir::cast(q, wide) - parameter(args.operands[2], i);
    return tir::cast(centred * parameter(args.operands[1], i), type);
  });
}

}  // namespace

constexpr Operator kDequantizeBlocks{
    .name = "qnn.dequantize_blocks",
    .doc =
        "y[i...] = (q[i...] - zero_point) * scale, with a scale and a zero point for each "
        "`block_size` elements along `axis`; q are integers of `bits` bits, those of a byte of the "
        "last dimension from its low bits on   data: uint8[d..., n * bits / 8] or int8[d..., n], "
        "scale: T[blocks...], zero_point: S[] or S[blocks...] -> T[d..., n]",
    .operands = {"data", "scale", "zero_point"},
    .attrs = relay::attr_schema<DequantizeBlocksAttrs>,
    .pattern = OpPattern::kInjective,
    .infer = infer_dequantize_blocks,
    .eval = eval_dequantize_blocks,
    .compute = compute_dequantize_blocks,
    .samples = {"qnn.dequantize_blocks(uint8[3,16]{0..255}, float32[3,2], uint8[]=8, "
                "block_size=16, bits=4)",
                "qnn.dequantize_blocks(uint8[2,5]{0..255}, float32[2,3], float32[2,3], "
                "block_size=4, bits=4, size=9)",
                "qnn.dequantize_blocks(int8[5,3], float16[2,3], int8[2,3], axis=0, block_size=4)",
                "qnn.dequantize_blocks(uint8[4,2]{0..255}, float32[2,8], uint8[2,8]{0..3}, axis=0, "
                "block_size=2, bits=2)",
                "qnn.dequantize_blocks(uint8[0,4], float32[0,1], uint8[]=128)"},
};

}  // namespace tessera::ops
