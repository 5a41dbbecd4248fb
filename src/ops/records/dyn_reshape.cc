// SPDX-License-Identifier: Apache-2.0
#include "ops/evaluation/evaluate.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/record.h"
#include "ops/records/reshape.h"

namespace tessera::ops {
namespace {

// 0 copies a size, -1 is what remains. A list whose elements are not known may hold either, so that
// nothing follows from the others' product.
Result<Type> infer_dyn_reshape(const InferArgs& args) {
  const Shape& in = args.operands[0].shape();
  TESSERA_TRY(Shape shape, shape_operand(args, 1));
  std::optional<std::size_t> rest;
  Dim others = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == Dim(0) && i < in.size()) shape[i] = in[i];
    if (shape[i] == Dim(-1)) {
      if (rest) return refuse(args, Code::kWrongAttribute, "has -1 twice in its shape");
      rest = i;
    } else {
      others = others * shape[i];
    }
  }
  const Dim total = num_elements(in);
  // From nothing, nothing remains, as the definition of the sizes has it: of s elements in s rows,
  // not always 1.
  const Dim of_none = total == Dim(0) ? Dim(0) : Dim::unknown();
  if (rest) shape[*rest] = others == Dim(0) ? of_none : floor_div(total, max(others, Dim(1)));
  if (provably_equal(total, num_elements(shape)) == Tri::kNo) {
    return refuse(args, Code::kShapeMismatch, "cannot give {} the shape {}", to_string(in),
                  to_string(shape));
  }
  return tensor_type(std::move(shape), args.operands[0].dtype());
}

// No tensor has so many, and 64 bits count their bytes.
constexpr double kMostElements = 0x1p58;

Definitions shape_of_dyn_reshape(const ComputeArgs& args) {
  const TensorExpr &data = args.operands[0], &list = args.operands[1];
  const std::size_t count = args.result.rank();
  const auto wanted = [&](std::size_t k) {
    const Expr given = tir::cast(list({static_cast<std::int64_t>(k)}), kInt64);
    if (k >= data.rank()) return given;
    return tir::select(tir::eq(given, 0), data.shape()[k], given);
  };
  Expr total = 1, others = 1, rests = 0;
  for (const Expr& e : data.shape()) total = total * e;
  // The product in floating point, too: data could say sizes whose product overflows and comes out
  // right.
  Expr magnitude = tir::float_imm(1, kFloat64);
  for (std::size_t k = 0; k < count; ++k) {
    const Expr is_rest = tir::eq(wanted(k), -1);
    others = others * tir::select(is_rest, Expr(1), wanted(k));
    const Expr size = tir::call("fabs", {tir::cast(wanted(k), kFloat64)});
    magnitude = magnitude * tir::max(size, tir::float_imm(1, kFloat64));
    rests = rests + tir::select(is_rest, Expr(1), Expr(0));
  }
  const Expr rest = tir::floor_div(total, tir::max(others, Expr(1)));
  const Expr product = others * tir::select(tir::eq(rests, 0), Expr(1), rest);
  const Expr counts = tir::logical_and(tir::le(rests, 1), tir::eq(product, total));
  const Expr fits =
      tir::logical_and(tir::lt(magnitude, tir::float_imm(kMostElements, kFloat64)), counts);
  return define_sizes(count, [&](std::size_t k) {
    const Expr size = tir::select(tir::eq(wanted(k), -1), rest, wanted(k));
    return tir::select(fits, size, Expr(-1));
  });
}

}  // namespace

constexpr Operator kDynReshape{
    .name = "dyn.reshape",
    .doc =
        "The same elements in row-major order with the shape that `newshape` says at run time; 0 "
        "copies a size, -1 is what remains   data: T[d...], newshape: int64[rank] -> T[newshape]",
    .operands = {"data", "newshape"},
    .keeps_order = true,
    .pattern = OpPattern::kInjective,
    .infer = infer_dyn_reshape,
    .eval = eval_reshape,
    .compute = compute_reshape,
    .shape = shape_of_dyn_reshape,
    .shape_need = {ShapeNeed::kShape, ShapeNeed::kData},
    .samples = {"dyn.reshape(float32[2,6], int64[2]=[3,4])",
                "dyn.reshape(int64[2,6], int64[3]=[0,-1,2])",
                "dyn.reshape(float16[4], int64[2]=[2,2])"},
};

}  // namespace tessera::ops
