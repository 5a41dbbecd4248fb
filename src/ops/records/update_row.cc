// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ops/evaluation/evaluate.h"
#include "ops/records/definition.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_update_row(const InferArgs& args) {
  const Type &data = args.operands[0], &row = args.operands[1];
  TESSERA_TRY_VOID(expect_int(args, 2));
  TESSERA_TRY_VOID(expect_rank(args, 2, 0));
  TESSERA_TRY_VOID(expect_min_rank(args, 0, 1));
  TESSERA_TRY_VOID(expect_rank(args, 1, data.rank() - 1));
  if (data.dtype() != row.dtype()) {
    return refuse(args, Code::kDtypeMismatch, "cannot put a row of {} into {}",
                  to_string(row.dtype()), to_string(data.dtype()));
  }
  Shape shape = data.shape();
  for (std::size_t i = 0; i < row.rank(); ++i) {
    TESSERA_TRY(shape[i + 1], agreed(args, shape[i + 1], row.shape()[i], "sizes of data and row"));
  }
  return tensor_type(std::move(shape), data.dtype());
}

std::vector<Tensor> eval_update_row(const EvalArgs& args) {
  const Tensor &data = args.operands[0], &row = args.operands[1];
  const std::int64_t index = element_as_int(args.operands[2], 0);
  const auto from = data.blob->bytes();
  std::vector<std::byte> bytes(from.begin(), from.end());
  if (index >= 0 && index < data.shape[0]) {
    const auto update = row.blob->bytes();
    std::copy(update.begin(), update.end(),
              bytes.begin() + index * static_cast<std::int64_t>(update.size()));
  }
  return {Tensor(data.shape, data.dtype, Blob::adopt(std::move(bytes)))};
}

Definitions compute_update_row(const ComputeArgs& args) {
  return define(args, "y", [&](const Indices& i) {
    const Expr index = tir::cast(args.operands[2]({}), kInt64);
    const Expr updated = args.operands[1](Indices(i.begin() + 1, i.end()));
    return tir::select(tir::eq(i[0], index), updated, args.operands[0](i));
  });
}

}  // namespace

constexpr Operator kUpdateRow{
    .name = "update_row",
    .doc =
        "A copy of data whose slice `index` along the first dimension is row; an index out of "
        "range "
        "changes nothing. In a loop that reads data nowhere else, the row is written in place   "
        "data: T[n, d...], row: T[d...], index: int[] -> T[n, d...]",
    .operands = {"data", "row", "index"},
    .pattern = OpPattern::kOpaque,
    .infer = infer_update_row,
    .eval = eval_update_row,
    .compute = compute_update_row,
    .samples = {"update_row(float32[4,3], float32[3], int64[]{0..3})",
                "update_row(int64[3], int64[], int32[]{-1..3})",
                "update_row(float16[2,0,3], float16[0,3], int64[]{1..1})",
                "update_row(bool[1,2], bool[2], int64[]{0..0})"},
};

}  // namespace tessera::ops
