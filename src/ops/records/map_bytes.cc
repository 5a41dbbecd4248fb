// SPDX-License-Identifier: Apache-2.0
#include "constants/integer_sums.h"
#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

constexpr std::int64_t kBytes = 256;

Result<Type> infer_map_bytes(const InferArgs& args) {
  const Type &x = args.operands[0], &table = args.operands[1];
  if (!x.dtype().is_byte()) {
    return refuse(args, Code::kDtypeMismatch, "has x of {}; it takes int8 or uint8",
                  to_string(x.dtype()));
  }
  if (table.shape() != Shape{Dim(kBytes)}) {
    return refuse(args, Code::kShapeMismatch, "has a table of {}; it takes 256 elements",
                  to_string(table));
  }
  return tensor_type(x.shape(), table.dtype());
}

std::vector<Tensor> eval_map_bytes(const EvalArgs& args) {
  const Tensor& x = args.operands[0];
  const Elements<std::int64_t> bytes = values_of<std::int64_t>(x);
  std::size_t at = 0;
  return {gather_elements(args.operands[1], x.shape, [&](const Counter&) {
    return bytes[at++] - range_of_bytes(x.dtype).least;
  })};
}

Definitions compute_map_bytes(const ComputeArgs& args) {
  const TensorExpr& x = args.operands[0];
  return define(args, "y", [&](const Indices& i) {
    const Expr byte = tir::cast(x(i), kInt64) - Expr(range_of_bytes(x.dtype()).least);
    return args.operands[1]({tir::max(tir::min(byte, Expr(kBytes - 1)), Expr(0))});
  });
}

}  // namespace

// Opaque, so that it stays a loop of its own: where something else is computed with it, a compiler
// that finds no vectors for the table makes none for that either.
constexpr Operator kMapBytes{
    .name = "qnn.map_bytes",
    .doc =
        "y[i...] = table[x[i...] - least], least the smallest number of x's type: any function of "
        "one byte   x: int8 or uint8[d...], table: T[256] -> T[d...]",
    .operands = {"x", "table"},
    .infer = infer_map_bytes,
    .eval = eval_map_bytes,
    .compute = compute_map_bytes,
    .samples = {"qnn.map_bytes(uint8[3,5]{0..255}, uint8[256]{0..255})",
                "qnn.map_bytes(int8[2,3,4]{-128..127}, int8[256]{-128..127})",
                "qnn.map_bytes(int8[], float32[256])", "qnn.map_bytes(uint8[0,2], int8[256])"},
};

}  // namespace tessera::ops
