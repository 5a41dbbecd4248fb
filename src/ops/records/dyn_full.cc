// SPDX-License-Identifier: Apache-2.0
#include "ops/attrs/create.h"
#include "ops/records/dynamic_shape.h"
#include "ops/records/full.h"
#include "ops/records/record.h"

namespace tessera::ops {
namespace {

Result<Type> infer_dyn_full(const InferArgs& args) {
  const auto p = relay::read_attrs<DynFullAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_rank(args, 0, 0));
  TESSERA_TRY(Shape shape, shape_operand(args, 1));
  return tensor_type(std::move(shape), p.dtype.value_or(args.operands[0].dtype()));
}

}  // namespace

constexpr Operator kDynFull{
    .name = "dyn.full",
    .doc =
        "y[i...] = fill_value, of the shape that `shape` says at run time   fill_value: T[], "
        "shape: "
        "int64[rank] -> dtype[shape]",
    .operands = {"fill_value", "shape"},
    .attrs = relay::attr_schema<DynFullAttrs>,
    .pattern = OpPattern::kElemWise,
    .infer = infer_dyn_full,
    .eval = eval_full,
    .compute = compute_full,
    .shape = shape_from_operand_1,
    .shape_need = {ShapeNeed::kNothing, ShapeNeed::kData},
    .samples = {"dyn.full(float32[], int64[2]=[2,3])",
                "dyn.full(int64[], int64[1]=[4], dtype=\"float32\")",
                "dyn.full(bool[], int64[2]=[0,3])"},
};

}  // namespace tessera::ops
