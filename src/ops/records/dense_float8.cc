// SPDX-License-Identifier: Apache-2.0
#include "ops/records/float8.h"
#include "ops/records/matmul_family.h"

namespace tessera::ops {
namespace {

enum Operands : std::size_t { kRowCodes, kColumnCodes, kRowScale, kColumnScale };

Result<void> expect_codes(const InferArgs& args, std::size_t operand) {
  if (args.operands[operand].dtype() == kUInt8) return {};
  return refuse(args, Code::kDtypeMismatch, "multiplies codes, which are uint8, not {}",
                to_string(args.operands[operand].dtype()));
}

Result<Type> infer_dense_float8(const InferArgs& args) {
  const auto p = relay::read_attrs<DenseFloat8Attrs>(args.attrs);
  TESSERA_TRY_VOID(expect_float8(args, p.data_format));
  TESSERA_TRY_VOID(expect_float8(args, p.weight_format));
  TESSERA_TRY_VOID(expect_codes(args, kRowCodes));
  TESSERA_TRY_VOID(expect_codes(args, kColumnCodes));
  TESSERA_TRY_VOID(expect_min_rank(args, kRowCodes, 2));
  TESSERA_TRY_VOID(expect_rank(args, kColumnCodes, 2));
  const Shape& weight = args.operands[kColumnCodes].shape();
  Shape shape = args.operands[kRowCodes].shape(), rows = shape;
  TESSERA_TRY_VOID(agreed(args, shape.back(), weight[1], "contraction sizes"));
  rows.back() = Dim(1);
  TESSERA_TRY_VOID(expect_scale_of(args, kRowScale, rows));
  TESSERA_TRY_VOID(expect_scale_of(args, kColumnScale, {weight[0]}));
  shape.back() = weight[0];
  return tensor_type(std::move(shape), kFloat32);
}

Elements<double> numbers_of(const Tensor& codes, std::string_view format) {
  Elements<double> numbers;
  for (const std::int64_t code : values_of<std::int64_t>(codes)) {
    numbers.push_back(float8_value(*find_float8(format), static_cast<int>(code)));
  }
  return numbers;
}

std::vector<Tensor> eval_dense_float8(const EvalArgs& args) {
  const auto p = relay::read_attrs<DenseFloat8Attrs>(args.attrs);
  const Elements<double> x = numbers_of(args.operands[kRowCodes], p.data_format);
  const Elements<double> w = numbers_of(args.operands[kColumnCodes], p.weight_format);
  const Elements<double> of_rows = values_of<double>(args.operands[kRowScale]);
  const Elements<double> of_columns = values_of<double>(args.operands[kColumnScale]);
  const Ints shape = static_shape(args.result);
  const Ints rows = broadcast_strides(args.operands[kRowScale].shape, shape);
  const std::int64_t terms = args.operands[kRowCodes].shape.back(), columns = shape.back();
  Elements<double> out;
  std::int64_t at = 0;
  for (Counter c(shape); c; ++c, ++at) {
    const std::int64_t row = at / columns, column = at % columns;
    double sum = 0;
    for (std::int64_t k = 0; k < terms; ++k) sum += x[row * terms + k] * w[column * terms + k];
    out.push_back(sum * of_rows[c.offset(rows)] * of_columns[of_columns.size() == 1 ? 0 : column]);
  }
  return {tensor_of(args.result, out)};
}

Definitions compute_dense_float8(const ComputeArgs& args) {
  const auto p = relay::read_attrs<DenseFloat8Attrs>(args.attrs);
  const TensorExpr &x = args.operands[kRowCodes], &w = args.operands[kColumnCodes];
  const std::vector<Expr> shape = result_shape(args);
  const IterAxis k = tir::reduce_axis(x.shape().back(), "k");
  const TensorExpr product = tir::compute("product", shape, [&](const Indices& i) {
    Indices at = i;
    at.back() = k.var;
    return tir::sum({k}, float8_number(*find_float8(p.data_format), x(at)) *
                             float8_number(*find_float8(p.weight_format), w({i.back(), k.var})));
  });
  return define(args, "y", [&](const Indices& i) {
    return product(i) * broadcast_read(args.operands[kRowScale], shape, i) *
           broadcast_read(args.operands[kColumnScale], shape, i);
  });
}

}  // namespace

constexpr Operator kDenseFloat8{
    .name = "qnn.dense_float8",
    .doc =
        "y[b..., n] = data_scale * weight_scale[n] * sum over k of data[b..., k] * weight[n, k], "
        "of floats of eight bits as their codes   data: uint8[b..., k], weight: uint8[n, k], "
        "data_scale: float32[] or float32[b..., 1], weight_scale: float32[] or float32[n] -> "
        "float32[b..., n]",
    .operands = {"data", "weight", "data_scale", "weight_scale"},
    .attrs = relay::attr_schema<DenseFloat8Attrs>,
    .pattern = OpPattern::kOutFusable,
    .infer = infer_dense_float8,
    .eval = eval_dense_float8,
    .compute = compute_dense_float8,
    .flops = [](const CostArgs& args) { return matmul_flops(args, {}); },
    .samples =
        {"qnn.dense_float8(uint8[3,16]{0..119}, uint8[32,16]{0..119}, float32[]=0.01, "
         "float32[]=0.02)",
         "qnn.dense_float8(uint8[40,48]{128..230}, uint8[16,48]{0..119}, float32[40,1], "
         "float32[16])",
         "qnn.dense_float8(uint8[2,3,32]{0..119}, uint8[48,32]{0..119}, float32[2,3,1], "
         "float32[]=1)",
         "qnn.dense_float8(uint8[5,7]{0..119}, uint8[3,7]{0..100}, float32[1,1], float32[3], "
         "weight_format=\"e5m2\")",
         "qnn.dense_float8(uint8[0,16], uint8[32,16], float32[]=1, float32[32])"},
};

}  // namespace tessera::ops
