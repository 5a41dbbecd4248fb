// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "ops/records/scatter.h"
#include "ops/records/size_rules.h"

namespace tessera::ops {
namespace {

Result<Type> infer_scatter_elements(const InferArgs& args) {
  const Type &data = args.operands[0], &indices = args.operands[1], &updates = args.operands[2];
  const auto p = relay::read_attrs<ScatterElementsAttrs>(args.attrs);
  TESSERA_TRY_VOID(expect_int(args, 1));
  TESSERA_TRY_VOID(expect_rank(args, 1, data.rank()));
  TESSERA_TRY_VOID(expect_rank(args, 2, data.rank()));
  TESSERA_TRY(const std::int64_t axis, normal_axis(args, p.axis, data.rank()));
  TESSERA_TRY_VOID(expect_scatter_mode(args, p.reduction));
  for (std::size_t i = 0; i < data.rank(); ++i) {
    TESSERA_TRY_VOID(
        agreed(args, indices.shape()[i], updates.shape()[i], "sizes of indices and updates"));
  }
  TESSERA_TRY_VOID(indices_covered(args, axis));
  if (data.dtype() != updates.dtype()) {
    return refuse(args, Code::kDtypeMismatch, "cannot update {} with {}", to_string(data.dtype()),
                  to_string(updates.dtype()));
  }
  return data;
}

std::vector<Tensor> eval_scatter_elements(const EvalArgs& args) {
  const auto p = relay::read_attrs<ScatterElementsAttrs>(args.attrs);
  const Tensor &data = args.operands[0], &index = args.operands[1];
  const std::int64_t axis = front_axis(p.axis, data.shape.size());
  const Ints strides = row_major_strides(data.shape);
  const Elements<std::int64_t> indices = values_of<std::int64_t>(index);
  return in_domain(data.dtype, [&]<class T>(T) -> std::vector<Tensor> {
    Elements<T> out = values_of<T>(data);
    const Elements<T> updates = values_of<T>(args.operands[2]);
    std::size_t next = 0;
    for (Counter c(index.shape); c; ++c, ++next) {
      const std::int64_t i = checked_index(indices[next], data.shape[axis]);
      T& at = out[c.offset(strides) + (i - c[axis]) * strides[axis]];
      at = scattered(at, updates[next], p.reduction);
    }
    return {tensor_of(args.result, out)};
  });
}

// Only updates of the same place in the other dimensions can hit: one axis to look along.
Definitions compute_scatter_elements(const ComputeArgs& args) {
  const auto p = relay::read_attrs<ScatterElementsAttrs>(args.attrs);
  const TensorExpr &data = args.operands[0], &indices = args.operands[1];
  const std::int64_t axis = front_axis(p.axis, data.rank());
  const std::vector<IterAxis> along{tir::reduce_axis(indices.shape()[axis], "u")};
  const auto place = [&](const Indices& i, const Indices& u) {
    Indices at = i;
    at[axis] = u[0];
    return at;
  };
  const auto covered = [&](const Indices& i) {  // updates may cover a part of the data
    std::vector<Expr> conditions;
    for (std::size_t d = 0; d < i.size(); ++d) {
      if (static_cast<std::int64_t>(d) != axis) {
        conditions.push_back(tir::lt(i[d], indices.shape()[d]));
      }
    }
    return conditions;
  };
  const auto hits = [&](const Indices& i, const Indices& u) {
    std::vector<Expr> conditions = covered(i);
    const Expr chosen = tir::cast(indices(place(i, u)), kInt64);
    const Expr wrapped = tir::select(tir::lt(chosen, 0), chosen + data.shape()[axis], chosen);
    conditions.push_back(tir::eq(wrapped, i[axis]));
    return all_of(std::move(conditions));
  };
  const auto update = [&](const Indices& i, const Indices& u) {
    const Expr value = args.operands[2](place(i, u));
    std::vector<Expr> conditions = covered(i);
    return conditions.empty() ? value : tir::select(all_of(std::move(conditions)), value, data(i));
  };
  return compute_scatter(args, p.reduction, along, hits, update);
}

}  // namespace

constexpr Operator kScatterElements{
    .name = "scatter_elements",
    .doc =
        "A copy of data where, for every place i of indices, y[i with i[axis] = indices[i]] is "
        "updated with "
        "updates[i]: replaced, or by add, mul, min, max   data: T[d...], indices: int[e...], "
        "updates: "
        "T[e...] -> T[d...]",
    .operands = {"data", "indices", "updates"},
    .attrs = relay::attr_schema<ScatterElementsAttrs>,
    .pattern = OpPattern::kOpaque,
    .infer = infer_scatter_elements,
    .eval = eval_scatter_elements,
    .compute = compute_scatter_elements,
    .runtime_symbol = "tessera_scatter_elements",
    .samples = {"scatter_elements(float32[3,4], int64[2,4]{0..2}, float32[2,4])",
                "scatter_elements(float16[2,5], int32[2,3]{-5..4}, float16[2,3], axis=1, "
                "reduction=\"add\")",
                "scatter_elements(int64[6], int64[9]{0..5}, int64[9], reduction=\"max\")",
                "scatter_elements(float32[4], int64[5]{0..3}, float32[5], reduction=\"mul\")",
                "scatter_elements(float32[3,2], int64[2,1]{0..1}, float32[2,1], axis=-1)"},
};

}  // namespace tessera::ops
